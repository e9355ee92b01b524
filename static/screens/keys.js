/*
 * Who may ask besides you: API keys, and clients that you have connected; and the secrets that the site uses for you
 * (secrets.js). A key is shown once, in the dialog that
 * makes it; it is no draft and nothing keeps it. Ending one is a dialog, since nobody can undo it.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { get, post } from '../lib/api.js'
import { oneLine, visible } from '../lib/text.js'
import { Button, CopyButton, Dialog, EmptyState, Field, Foreign, Icon, InlineError, Notice, Skeleton, TimeAgo, toast, useTitle } from '../lib/ui.js'
import { Snippets } from './clients.js'
import { EnterSecret, Secret } from './secrets.js'
import { LIFETIMES, lifetimeMs, SCOPES, scopeOf } from './scopes.js'

const STATES = { active: ['check', 'ok', 'Active'], expired: ['clock', 'quiet', 'Expired'] }

/** Who used it last, as far as it is known. */
const LastUse = ({ of }) =>
	of.last_used_at
		? html`<${TimeAgo} at=${of.last_used_at} /><span class="key-from"> from ${visible(of.last_used_address ?? '—')}${of.last_used_client ? html`, <${Foreign} text=${oneLine(of.last_used_client, 60)} />` : ''}</span>`
		: 'Never'

function Key({ of, onRevoke }) {
	const [icon, tone, word] = STATES[of.state] ?? ['circle', 'quiet', visible(of.state)]
	const scope = scopeOf(of.scopes)
	return html`<li class="box-card" data-key=${of.key_id}>
		<div class="box-head"><div class="box-what"><span class="box-title"><${Foreign} text=${of.title} /></span><span class="box-name">${of.prefix}…</span></div>
			<div class="box-acts"><${Button} small kind="danger-plain" icon="gone" action=${() => onRevoke(of)}>Revoke</${Button}></div></div>
		<dl class="box-facts key-facts">
			<div><dt>State</dt><dd><span class=${`stamp tone-${tone}`}><${Icon} name=${icon} size=${14} /><span>${word}</span></span></dd></div>
			<div><dt>May</dt><dd title=${SCOPES[scope]?.means}>${SCOPES[scope]?.word ?? scope}</dd></div>
			<div><dt>Made</dt><dd><${TimeAgo} at=${of.created_at} /></dd></div>
			<div><dt>Ends</dt><dd>${of.expires_at ? html`<time datetime=${of.expires_at}>${new Date(of.expires_at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })}</time>` : 'When it is revoked'}</dd></div>
			<div class="wide"><dt>Last used</dt><dd><${LastUse} of=${of} /></dd></div>
		</dl></li>`
}

function Client({ of, onRevoke }) {
	const scope = scopeOf(of.scopes)
	return html`<li class="box-card" data-grant=${of.grant_id}>
		<div class="box-head"><div class="box-what"><span class="box-title"><q><${Foreign} text=${of.title} /></q></span><span class="box-name">${visible(of.client_id)}</span></div>
			<div class="box-acts"><${Button} small kind="danger-plain" icon="gone" action=${() => onRevoke(of)}>Disconnect</${Button}></div></div>
		<dl class="box-facts key-facts">
			<div><dt>May</dt><dd title=${SCOPES[scope]?.means}>${SCOPES[scope]?.word ?? scope}</dd></div>
			<div><dt>Connected</dt><dd><${TimeAgo} at=${of.created_at} /></dd></div>
			<div class="wide"><dt>Last used</dt><dd><${LastUse} of=${of} /></dd></div>
		</dl></li>`
}

const empty = () => ({ title: '', scope: 'run:write', lifetime: '90' })

/** The form, and then the key: once, until the dialog is closed. */
function NewKey({ onClose, onMade }) {
	const [form, setForm] = useState(empty)
	const [state, setState] = useState({ busy: false, error: null, field: '' })
	const [made, setMade] = useState(null)
	const set = (more) => setForm({ ...form, ...more })
	const submit = async (e) => {
		e.preventDefault()
		if (state.busy) return
		if (!form.title.trim()) return setState({ busy: false, error: null, field: 'Say what the key is for.' })
		setState({ busy: true, error: null, field: '' })
		try {
			const key = await post('/create_key.json', { title: form.title.trim(), scope: form.scope, lifetime_ms: lifetimeMs(form.lifetime) }, { key: '' })
			setMade(key)
			onMade()
		} catch (error) {
			setState({ busy: false, error, field: '' })
		}
	}
	if (made)
		return html`<${Dialog} title="Copy the key now" sticky onClose=${onClose} footer=${html`<${Button} kind="primary" action=${onClose}>I have it</${Button}>`}>
			<${Notice} tone="wait" icon="warn"><p><strong>It is shown this once.</strong> The site keeps only what it needs to recognise it.</p></${Notice}>
			<p class="key-secret"><code data-secret>${made.key}</code></p>
			<p><${CopyButton} text=${made.key} label="Copy the key" small=${false} /></p>
			<p class="fine">Send it as <code>Authorization: Bearer …</code>, or run <code>asb login</code> and paste it. Never put it into an address.</p>
		</${Dialog}>`
	return html`<${Dialog} title="New key" onClose=${onClose}
		footer=${html`<${Button} kind="plain" action=${onClose}>Cancel</${Button}><${Button} type="submit" form="new-key" kind="primary" busy=${state.busy} busyText="Making…">Make the key</${Button}>`}>
		<form id="new-key" class="signin-form" onSubmit=${submit} novalidate>
			${state.error && html`<${InlineError} error=${state.error} title="The key was not made" />`}
			<${Field} label="What is it for?" error=${state.field} hint="The machine or program that will have it, so that you can tell it from others later.">${(p) => html`<input ...${p} class="input" data-autofocus
				name="title" maxlength="100" autocomplete="off" value=${form.title} onInput=${(e) => {
					set({ title: e.currentTarget.value })
					if (state.field) setState({ ...state, field: '' })
				}} />`}</${Field}>
			<fieldset class="key-scopes"><legend class="legend-label">What may it do?</legend>${Object.entries(SCOPES).map(
				([name, s]) => html`<label key=${name} class="key-scope"><input type="radio" name="scope" value=${name} checked=${form.scope === name} onChange=${() => set({ scope: name })} />
					<span><strong>${s.word}</strong><span class="fine">${s.means}</span></span></label>`,
			)}</fieldset>
			<${Field} label="When does it end?">${(p) => html`<select ...${p} class="input" value=${form.lifetime} onChange=${(e) => set({ lifetime: e.currentTarget.value })}>${LIFETIMES.map(
				([days, word]) => html`<option key=${days} value=${days} selected=${form.lifetime === days}>${word}</option>`,
			)}</select>`}</${Field}>
		</form>
	</${Dialog}>`
}

/** @param {{title: string, name: string, what: string, then: string, path: string, body: any, onClose: () => void, onDone: () => void}} p */
function EndDialog({ title, word, name, then, path, body, onClose, onDone }) {
	const [state, setState] = useState({ busy: false, error: null })
	const go = async () => {
		setState({ busy: true, error: null })
		try {
			await post(path, body)
			toast('It is over.')
			onDone()
			onClose()
		} catch (error) {
			setState({ busy: false, error })
		}
	}
	return html`<${Dialog} title=${title} onClose=${onClose} class="teardown"
		footer=${html`<${Button} kind="plain" action=${onClose} data-autofocus>Cancel</${Button}><${Button} kind="danger" busy=${state.busy} busyText="Ending…" action=${go}>${word}</${Button}>`}>
		<p class="teardown-name"><q>${visible(oneLine(name, 120))}</q></p>
		<p>${then}</p>
		${state.error && html`<${InlineError} error=${state.error} title="It was not ended" retry=${go} />`}
	</${Dialog}>`
}

/** What GET says, or a member of it, and again. */
function useList(path, member = '') {
	const [state, setState] = useState({ list: null, error: null })
	const load = () =>
		get(path).then(
			(a) => setState({ list: member ? a[member] : a, error: null }),
			(error) => setState({ list: state.list, error }),
		)
	useEffect(() => void load(), [])
	return [state.list, state.error, load]
}

export function KeysScreen() {
	useTitle('Keys')
	const [keys, keysError, loadKeys] = useList('/keys.json', 'keys')
	const [clients, clientsError, loadClients] = useList('/grants.json', 'grants')
	const [snippets, snippetsError, loadSnippets] = useList('/clients.json')
	const [secrets, secretsError, loadSecrets] = useList('/secrets.json', 'secrets')
	const [making, setMaking] = useState(false)
	const [entering, setEntering] = useState(null)
	const [ending, setEnding] = useState(null)
	const revoke = (k) =>
		setEnding({ title: 'Revoke this key?', word: 'Revoke', name: k.title, path: '/revoke_key.json', body: { key_id: k.key_id }, onDone: loadKeys,
			then: 'Whatever uses it is refused from now on, and its streams end. Runs it has started go on. A revoked key cannot be brought back.' })
	const disconnect = (g) =>
		setEnding({ title: 'Disconnect this client?', word: 'Disconnect', name: g.title, path: '/revoke_grant.json', body: { grant_id: g.grant_id }, onDone: loadClients,
			then: 'Its access ends now. Runs it has started go on. It can ask you again.' })
	const remove = (s) =>
		setEnding({ title: 'Remove this secret?', word: 'Remove', name: s.title, path: '/secret_delete.json', body: { name: s.name }, onDone: loadSecrets,
			then: s.site ? 'The site’s own is used from now on, also by runs that go on.' : 'What needs it fails from now on, also in runs that go on. It has to be entered once more to be used again.' })
	return html`<main class="page keys" id="main" tabindex="-1">
		<header class="page-head"><div><h1>Keys</h1><p class="page-sub">Who may use this site for you, and what the site may use for you.</p></div></header>
		<section class="key-section" aria-labelledby="keys-title">
			<div class="key-head"><h2 id="keys-title">API keys</h2><${Button} kind="primary" icon="plus" action=${() => setMaking(true)}>New key</${Button}></div>
			${keysError && html`<${InlineError} title="The keys could not be loaded" error=${keysError} retry=${loadKeys} />`}
			${!keys ? !keysError && html`<${Skeleton} rows=${2} label="Loading keys" />`
				: keys.length ? html`<ul class="box-list">${keys.map((k) => html`<${Key} key=${k.key_id} of=${k} onRevoke=${revoke} />`)}</ul>`
				: html`<${EmptyState} icon="key" title="No keys"><p>A key lets a program use this site: the command line on another machine, an editor, a build.</p></${EmptyState}>`}
		</section>
		<section class="key-section" aria-labelledby="clients-title">
			<div class="key-head"><h2 id="clients-title">Connected clients</h2></div>
			${clientsError && html`<${InlineError} title="The clients could not be loaded" error=${clientsError} retry=${loadClients} />`}
			${!clients ? !clientsError && html`<${Skeleton} rows=${1} label="Loading clients" />`
				: clients.length ? html`<ul class="box-list">${clients.map((g) => html`<${Client} key=${g.grant_id} of=${g} onRevoke=${disconnect} />`)}</ul>`
				: html`<${EmptyState} icon="link" title="Nothing is connected"><p>A client that speaks MCP and OAuth connects by this site’s address alone: it sends you here, and you allow it or not.</p></${EmptyState}>`}
		</section>
		<section class="key-section" aria-labelledby="snippets-title">
			<div class="key-head"><h2 id="snippets-title">Connect a client with a key</h2></div>
			${snippetsError && html`<${InlineError} title="The settings could not be loaded" error=${snippetsError} retry=${loadSnippets} />`}
			${snippets ? html`<${Snippets} of=${snippets} />` : !snippetsError && html`<${Skeleton} rows=${2} label="Loading the settings of clients" />`}
		</section>
		<section class="key-section" id="secrets" aria-labelledby="secrets-title">
			<div class="key-head"><h2 id="secrets-title">Secrets</h2></div>
			${secretsError && html`<${InlineError} title="The secrets could not be loaded" error=${secretsError} retry=${loadSecrets} />`}
			${secrets ? html`<ul class="box-list">${secrets.map((s) => html`<${Secret} key=${s.name} of=${s} onEnter=${setEntering} onRemove=${remove} />`)}</ul>` : !secretsError && html`<${Skeleton} rows=${1} label="Loading secrets" />`}
		</section>
		${entering && html`<${EnterSecret} of=${entering} onClose=${() => setEntering(null)} onDone=${loadSecrets} />`}
		${making && html`<${NewKey} onClose=${() => setMaking(false)} onMade=${loadKeys} />`}
		${ending && html`<${EndDialog} ...${ending} onClose=${() => setEnding(null)} />`}
	</main>`
}
