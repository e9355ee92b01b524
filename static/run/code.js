/*
 * A block of code or output: monospace, scrolls by itself, can be copied. Long ones are folded.
 */
import { html, useState } from '../lib/html.js'
import { CopyButton } from '../lib/ui.js'
import { ansiSpans } from './ansi.js'
import { visible } from './visible.js'

/** Lines that are shown at first. */
const FOLD = 40
/* What one block draws at the most; the rest is in the log or in the patch. */
const MOST = 200_000

/** A line of a terminal as vnodes. @param {string} line */
export const ansiLine = (line) =>
	ansiSpans(line).map((s) => (s.cls ? html`<span class=${s.cls} title=${s.title}>${s.text}</span>` : s.text))

const terminal = (text) => text.split('\n').map((line, i) => [i ? '\n' : '', ansiLine(line)])

/**
 * @param {{text: string, lang?: string, label?: string, ansi?: boolean, fold?: number}} p
 *   ansi: it is a terminal's output
 */
export function CodeBlock({ text, lang = '', label = '', ansi = false, fold = FOLD }) {
	const [open, setOpen] = useState(false)
	const lines = text.split('\n')
	const long = lines.length > fold + 5
	const shown = (long && !open ? lines.slice(0, fold).join('\n') : text).slice(0, MOST)
	const name = label || lang || 'code'
	return html`<figure class="code">
		<figcaption class="code-head">
			<span class="code-name">${visible(name)}</span>
			<${CopyButton} text=${text} label="Copy" />
		</figcaption>
		<pre tabindex="0" role="group" aria-label=${name}><code>${ansi ? terminal(shown) : visible(shown)}</code></pre>
		${
			long &&
			html`<button type="button" class="code-more" aria-expanded=${open} onClick=${() => setOpen(!open)}>
			${open ? 'Show less' : `Show all ${lines.length.toLocaleString('en')} lines`}
		</button>`
		}
	</figure>`
}
