/*
 * Secrets that the site uses for you. One is entered and never shown again: what the field holds is in no state, no
 * draft and no storage, and is gone when it was sent or the dialog is closed. What there is of one is when it was set and used.
 */
import { html, useRef, useState } from '../lib/html.js'
import { post } from '../lib/api.js'
import { visible } from '../lib/text.js'
import { Button, Dialog, Field, Icon, InlineError, TimeAgo, toast } from '../lib/ui.js'

/** What the card says of it: icon, tone, words. */
const stateOf = (s) => (s.set ? ['check', 'ok', 'Set'] : s.site ? ['check', 'ok', 'The site’s own is used'] : ['circle', 'quiet', 'Not set'])

export function Secret({ of, onEnter, onRemove }) {
	const [icon, tone, word] = stateOf(of)
	const title = visible(of.title)
	return html`<li class="box-card" data-secret-name=${of.name}>
		<div class="box-head"><div class="box-what"><span class="box-title">${title}</span><span class="secret-use">${visible(of.use)}</span></div>
			<div class="box-acts">
				<${Button} small kind="plain" icon="key" aria-label=${`${of.set ? 'Replace' : 'Enter'}: ${title}`} action=${() => onEnter(of)}>${of.set ? 'Replace' : 'Enter'}</${Button}>
				${of.set && html`<${Button} small kind="danger-plain" icon="gone" aria-label=${`Remove: ${title}`} action=${() => onRemove(of)}>Remove</${Button}>`}
			</div></div>
		<dl class="box-facts key-facts">
			<div><dt>State</dt><dd><span class=${`stamp tone-${tone}`}><${Icon} name=${icon} size=${14} /><span>${word}</span></span></dd></div>
			${of.set && html`<div><dt>Entered</dt><dd><${TimeAgo} at=${of.updated_at} /></dd></div>
			<div><dt>Last used</dt><dd>${of.last_used_at ? html`<${TimeAgo} at=${of.last_used_at} />` : 'Never'}</dd></div>`}
		</dl></li>`
}

export function EnterSecret({ of, onClose, onDone }) {
	const input = useRef(null)
	const [state, setState] = useState({ busy: false, error: null, field: '' })
	const submit = async (e) => {
		e.preventDefault()
		if (state.busy) return
		const value = input.current.value.trim()
		if (!value) return setState({ busy: false, error: null, field: 'Paste the secret.' })
		input.current.value = ''
		setState({ busy: true, error: null, field: '' })
		try {
			await post('/secret_set.json', { name: of.name, value }, { key: '' })
			toast('It is set.')
			onDone()
			onClose()
		} catch (error) {
			setState({ busy: false, error, field: '' })
		}
	}
	const title = visible(of.title)
	return html`<${Dialog} title=${of.set ? `Replace: ${title}` : title} onClose=${onClose}
		footer=${html`<${Button} kind="plain" action=${onClose}>Cancel</${Button}><${Button} type="submit" form="enter-secret" kind="primary" busy=${state.busy} busyText="Sealing…">${of.set ? 'Replace it' : 'Set it'}</${Button}>`}>
		<form id="enter-secret" class="signin-form" onSubmit=${submit} novalidate autocomplete="off">
			${state.error && html`<${InlineError} error=${state.error} title="It was not set" />`}
			<${Field} label=${title} error=${state.field} hint="It is sealed before it is stored. No box gets it, and nobody can read it here again.">${(p) => html`<input ...${p} ref=${input} class="input mono" data-autofocus
				type="password" name="secret" maxlength="1024" autocomplete="off" autocapitalize="none" spellcheck="false" />`}</${Field}>
		</form>
	</${Dialog}>`
}
