/*
 * How a program is told of this site: the table that `asb config` prints from, with no secret in it.
 */
import { html, useState } from '../lib/html.js'
import { Field } from '../lib/ui.js'
import { CodeBlock } from '../run/code.js'

/** @param {{of: {clients: {format: string, client: string, file: string, text: string, key: string}[], then: string}}} p */
export function Snippets({ of }) {
	const [format, setFormat] = useState(of.clients[0].format)
	const c = of.clients.find((x) => x.format === format)
	return html`<div class="card snippets">
		<${Field} label="Your client">${(p) => html`<select ...${p} class="input" value=${format} onChange=${(e) => setFormat(e.currentTarget.value)}>${of.clients.map(
			(x) => html`<option key=${x.format} value=${x.format} selected=${x.format === format}>${x.client}</option>`,
		)}</select>`}</${Field}>
		<${CodeBlock} text=${c.text} label=${c.file} />
		<p class="fine">${c.key === 'KEY' ? html`Put an API key in the place of <code>KEY</code>` : html`It takes an API key from its environment: <code>${c.key}</code>`}. Then start it anew: ${of.then}.</p>
	</div>`
}
