/*
 * Sandboxes on the page of machines: boxes without a run, in which a person's own agent runs code. Their rows say how
 * they are sealed and how long they last; ending one is a dialog that says what is lost.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { get, newKey, post } from '../lib/api.js'
import { connection } from '../lib/events.js'
import { fleet } from '../lib/store.js'
import { plural, visible } from '../lib/text.js'
import { duration, now, parse } from '../lib/time.js'
import { Button, Dialog, Icon, InlineError, toast } from '../lib/ui.js'
import { List } from '../run/teardown.js'

const LANGUAGES = { python: 'Python', javascript: 'JavaScript', bash: 'Bash', go: 'Go', java: 'Java' }
/* Being used makes no event: what is left of an idle sandbox is asked for again. */
const AGAIN_MS = 20_000

const BOX_STATES = {
	pooled: ['circle', 'quiet', 'Ready and waiting'],
	creating: ['ring', 'run', 'Being made'],
	ready: ['dot', 'run', 'Up'],
	stopped: ['circle', 'quiet', 'Stopped'],
	destroying: ['gone', 'quiet', 'Tearing down'],
	gone: ['gone', 'quiet', 'Destroyed'],
	failed: ['cross', 'danger', 'Failed'],
}
/** How a box stands. @param {{state: string}} p */
export const BoxStamp = ({ state }) => {
	const [icon, tone, word] = BOX_STATES[state] ?? ['circle', 'quiet', visible(state)]
	return html`<span class=${`stamp tone-${tone}`}><${Icon} name=${icon} size=${14} /><span>${word}</span></span>`
}

/** @param {{language: string}} s */
export const sandboxTitle = (s) => `${LANGUAGES[s.language] ?? visible(s.language)} sandbox`

/**
 * The sandboxes that live, by the names of their boxes; asked for when `mark`, what boxes there are, changes.
 * @param {string} mark @returns {[Map<string, any>, Error | null, () => Promise<void>]}
 */
export function useSandboxes(mark) {
	const [state, setState] = useState({ list: new Map(), error: null })
	const load = () =>
		get('/sandboxes.json').then(
			({ sandboxes }) => setState({ list: new Map(sandboxes.map((s) => [s.sandbox_id, s])), error: null }),
			(error) => setState((was) => ({ ...was, error })),
		)
	const any = state.list.size > 0
	useEffect(() => {
		if (connection.peek().state !== 'offline') void load()
		if (!any) return
		const timer = setInterval(() => {
			if (!document.hidden && connection.peek().state === 'live') void load()
		}, AGAIN_MS)
		return () => clearInterval(timer)
	}, [mark, any])
	return [state.list, state.error, load]
}

/** Whether it reaches anything. @param {{network: string}} s */
function Network({ text }) {
	const [word, means] = text.split(': ')
	const [icon, tone, said] =
		{ sealed: ['shield', 'ok', 'Sealed'], packages: ['download', 'wait', 'Packages only'] }[word] ?? ['circle', 'quiet', means === 'the sandbox has ended' ? 'None' : 'Not handed out']
	return html`<span class=${`stamp tone-${tone}`} title=${means}><${Icon} name=${icon} size=${14} /><span>${said}</span></span>`
}

/** When it ends if nothing is run in it. */
function Idle({ sandbox }) {
	if (sandbox.gone_at || sandbox.state === 'failed') return '—'
	const used = parse(sandbox.used_at ?? sandbox.ready_at)
	if (used === null || sandbox.limits.idle_ms === null) return '—'
	const left = used + sandbox.limits.idle_ms - now.value
	return left > 0 ? `in ${duration(left)}` : 'due'
}

/** The rows of a sandbox beyond those of its box. */
export const SandboxFacts = ({ sandbox }) => html`
	<div><dt>Network</dt><dd><${Network} text=${sandbox.network} /></dd></div>
	<div><dt>Packages</dt><dd class="num">${sandbox.installed.length ? plural(sandbox.installed.length, 'package') : sandbox.packages.length ? 'Not installed yet' : 'None'}</dd></div>
	<div><dt>Ends if unused</dt><dd class="num"><${Idle} sandbox=${sandbox} /></dd></div>`

/** @param {{sandbox: any, onClose: () => void}} p */
export function SandboxDialog({ sandbox, onClose }) {
	const [state, setState] = useState({ busy: false, error: null })
	const [key] = useState(newKey)
	const name = sandbox.sandbox_id
	const go = async () => {
		setState({ busy: true, error: null })
		try {
			const { state: is } = await post('/destroy_sandbox.json', { sandbox_id: name }, { key })
			const { boxes } = fleet.peek()
			const box = boxes.get(name)
			if (box && is) fleet.value = { ...fleet.peek(), boxes: new Map(boxes).set(name, { ...box, state: is }) }
			toast('Tearing down the sandbox.')
			onClose()
		} catch (error) {
			setState({ busy: false, error })
		}
	}
	return html`<${Dialog} title="Tear down this sandbox?" onClose=${onClose} class="teardown"
		footer=${html`<${Button} kind="plain" action=${onClose} data-autofocus>Cancel<//>
			<${Button} kind="danger" busy=${state.busy} busyText="Tearing down…" action=${go}>Tear down<//>`}>
		<p class="teardown-name"><span>${sandboxTitle(sandbox)}</span> <q>${name}</q></p>
		<${List} title="Lost" icon="cross" tone="bad" rows=${[
			['What runs in it', 'it is stopped, and its agent is told that the sandbox is gone'],
			['The box', 'its files, memory and packages are destroyed for good'],
		]} />
		<${List} title="Kept" icon="check" tone="good" rows=${[['What its runs wrote', 'their output can still be asked for']]} />
		${state.error && html`<${InlineError} error=${state.error} title="It was not torn down" retry=${go} />`}
	<//>`
}
