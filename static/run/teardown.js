/*
 * Tearing a run down: a dialog that names the run and says what is lost and what is kept, since the box cannot be
 * brought back.
 */
import { html, useState } from '../lib/html.js'
import { newKey, post } from '../lib/api.js'
import { applyRun, boxIsGone, isActive } from '../lib/store.js'
import { oneLine, plural } from '../lib/text.js'
import { Button, Dialog, Icon, InlineError, toast } from '../lib/ui.js'
import { visible } from './visible.js'

/** Whether there is something to tear down. */
export const canTearDown = (run) =>
	isActive(run) || run.state === 'waiting' || (run.box && !boxIsGone(run.box) && run.box.state !== 'destroying')

/** What goes: [what, more]. */
export function losses(run) {
	const out = []
	if (isActive(run))
		out.push([
			'The running turn',
			run.state === 'running' ? 'the agent is at work and is stopped' : 'it has not begun',
		])
	if (run.state === 'waiting') out.push(['The open question', 'it can no longer be answered'])
	if (!boxIsGone(run.box)) out.push(['The box', 'its processes, memory and disk are destroyed for good'])
	return out
}

/** What stays. */
export function keeps(run) {
	const tree = run.source === 'git' || run.source === 'upload'
	const out = []
	if (tree)
		out.push(
			['Uncommitted work', 'it is saved as a patch first'],
			['New commits', 'they are saved as a bundle first'],
		)
	const files = run.files?.length ?? 0
	out.push([
		'Produced files',
		files ? `the ${plural(files, 'file')} in /artifacts so far, and newer ones` : 'what is in /artifacts by then',
	])
	out.push(['Trace and log', 'they stay on this page'])
	return out
}

/** What goes or stays. @param {{title: string, icon: string, tone: string, rows: string[][]}} p */
export const List = ({ title, icon, tone, rows }) => html`<section class=${`loss ${tone}`}>
	<h3><${Icon} name=${icon} size=${16} /> ${title}</h3>
	<ul>${rows.map(([what, more]) => html`<li><strong>${what}</strong>: ${more}.</li>`)}</ul>
</section>`

/** @param {{run: any, onClose: () => void}} p */
export function TeardownDialog({ run, onClose }) {
	const [state, setState] = useState({ busy: false, error: null })
	const [key] = useState(newKey)
	const go = async () => {
		setState({ busy: true, error: null })
		try {
			applyRun(await post('/teardown.json', { session: run.session }, { key }))
			toast('Tearing down: its work is saved first.')
			onClose()
		} catch (error) {
			setState({ busy: false, error })
		}
	}
	return html`<${Dialog} title="Tear down this run?" onClose=${onClose} class="teardown"
		footer=${html`<${Button} kind="plain" action=${onClose} data-autofocus>Cancel<//>
			<${Button} kind="danger" busy=${state.busy} busyText="Tearing down…" action=${go}>Tear down<//>`}>
		<p class="teardown-name"><span>Run</span> <q>${visible(oneLine(run.title, 120))}</q></p>
		<${List} title="Lost" icon="cross" tone="bad" rows=${losses(run)} />
		<${List} title="Kept" icon="check" tone="good" rows=${keeps(run)} />
		${state.error && html`<${InlineError} error=${state.error} title="It was not torn down" retry=${go} />`}
	<//>`
}
