/*
 * The boxes that live. A machine is made for a run or as a sandbox, and destroyed after it: there is nothing to do
 * here but to look, to go to the run, and to end it. Numbers are what is now; there are no trends, since none are kept.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { connection } from '../lib/events.js'
import { href } from '../lib/router.js'
import { fleet, isActive, runs, stateKey } from '../lib/store.js'
import { ISOLATION, isolationWords } from '../lib/strings.js'
import { oneLine, visible } from '../lib/text.js'
import { binary, duration, now, parse } from '../lib/time.js'
import { Button, ButtonLink, CopyButton, EmptyState, Foreign, InlineError, Notice, Skeleton, StateStamp, TimeAgo, useTitle } from '../lib/ui.js'
import { TeardownDialog } from '../run/teardown.js'
import { BoxStamp, SandboxDialog, SandboxFacts, sandboxTitle, useSandboxes } from './sandbox.js'

/** What a sandbox says of its box. */
const boxOf = (s) => s && { isolation: s.isolation, image: s.image, memory_bytes: s.limits.memory_bytes, cpus: s.limits.cpus, created_at: s.created_at, ready_at: s.ready_at, expires_at: s.expires_at }

/** What is left of its life, by its row. */
function Expires({ at }) {
	const ms = parse(at)
	if (ms === null) return '—'
	const left = ms - now.value
	return left > 0 ? html`<time datetime=${at}>in ${duration(left)}</time>` : 'due'
}

/** @param {{box: any, run?: any, sandbox?: any, onTearDown: (of: {run?: any, sandbox?: any}) => void}} p */
function Box({ box, run, sandbox, onTearDown }) {
	const of = run ? html`<${Foreign} text=${oneLine(run.title, 160)} />` : sandbox ? sandboxTitle(sandbox) : 'No run'
	return html`<li class="box-card" data-box=${box.name}>
		<div class="box-head"><div class="box-what">
			${run && html`<${StateStamp} state=${stateKey(run)} />`}
			${
				run || sandbox
					? html`<a class="row-title" href=${run ? href.run(run.session) : href.sandbox(box.name)}>${of}</a>`
					: html`<span class="box-title">${of}</span>`
			}
			<span class="box-name">${box.name}<${CopyButton} text=${box.name} label=${`Copy the name of ${box.name}`} iconOnly /></span></div>
			${
				(run || sandbox) && box.state !== 'destroying' &&
				html`<div class="box-acts"><${ButtonLink} small href=${run ? href.run(run.session) : href.sandbox(box.name)}>${run ? 'Open run' : 'Open'}</${ButtonLink}>
					<${Button} small kind="danger-plain" icon="gone" action=${() => onTearDown({ run, sandbox })}>Tear down</${Button}></div>`
			}
		</div>
		<dl class="box-facts">
			<div><dt>Machine</dt><dd><${BoxStamp} state=${box.state} /></dd></div>
			<div><dt>Isolation</dt><dd title=${ISOLATION[box.isolation]?.means}>${isolationWords(box.isolation)}</dd></div>
			${sandbox && html`<${SandboxFacts} sandbox=${sandbox} />`}
			<div><dt>Image</dt><dd>${visible(box.image ?? '—')}</dd></div>
			<div><dt>Limits</dt><dd class="num">${binary(box.memory_bytes)}, ${box.cpus ?? '—'} CPU</dd></div>
			<div><dt>Up since</dt><dd class="num"><${TimeAgo} at=${box.ready_at ?? box.created_at} /></dd></div>
			<div><dt>Ends at the latest</dt><dd class="num"><${Expires} at=${box.expires_at} /></dd></div>
		</dl>
	</li>`
}

/** The dialog that is open: a run's, as on its page, or a sandbox's. */
function useTeardown() {
	const [of, setOf] = useState(null)
	const close = () => setOf(null)
	const view = of && (of.run ? html`<${TeardownDialog} run=${of.run} onClose=${close} />` : html`<${SandboxDialog} sandbox=${of.sandbox} onClose=${close} />`)
	return [setOf, view]
}

export function MachinesScreen() {
	useTitle('Machines')
	const [tearDown, dialog] = useTeardown()
	const [monitor, setMonitor] = useState(null)
	const [error, setError] = useState(null)
	const load = () =>
		get('/monitor.json').then(
			(m) => {
				setMonitor(m)
				setError(null)
			},
			(e) => setError(e),
		)
	const boxes = [...fleet.value.boxes.values()].filter((b) => b.state !== 'gone' && b.state !== 'failed')
	// what boxes there are changes by events; the counts are asked for when it has
	const mark = boxes.map((b) => `${b.name}${b.state}`).join()
	useEffect(() => {
		if (connection.value.state !== 'offline') void load()
	}, [mark])
	const [sandboxes, sandboxError, loadSandboxes] = useSandboxes(mark)
	const runOf = new Map(runs.value.filter((r) => r.box?.name).map((r) => [r.box.name, r]))
	const loaded = fleet.value.at > 0
	const queued = runs.value.filter((r) => r.state === 'queued').length
	const jobs = Object.values(monitor?.jobs ?? {}).reduce((a, b) => a + b, 0)
	const memory = boxes.reduce((a, b) => a + (b.memory_bytes ?? 0), 0)
	return html`<main class="page machines" id="main" tabindex="-1">
		<header class="page-head"><h1>Machines</h1><p class="page-sub">Each run and each sandbox has a machine of its own. It is destroyed afterwards; the run stays.</p></header>
		${error && html`<${InlineError} title="The counts could not be loaded" error=${error} retry=${load} />`}
		${sandboxError && html`<${InlineError} title="The sandboxes could not be loaded" error=${sandboxError} retry=${loadSandboxes} />`}
		${dialog}
		${
			!loaded
				? html`<${Skeleton} rows=${2} label="Loading machines" />`
				: html`<dl class="figures">
						<div><dt>Machines up</dt><dd>${boxes.length}</dd></div>
						<div><dt>Runs working</dt><dd>${runs.value.filter(isActive).length}</dd></div>
						<div><dt>Waiting for a place</dt><dd>${queued}</dd></div>
						<div><dt>Jobs</dt><dd>${monitor ? jobs : '—'}</dd></div>
						<div><dt>Memory given out</dt><dd>${binary(memory)}</dd></div>
					</dl>
					${
						boxes.length
							? html`<ul class="box-list">${boxes.map((b) => html`<${Box} key=${b.name} box=${{ ...(runOf.get(b.name)?.box ?? boxOf(sandboxes.get(b.name))), ...b }} run=${runOf.get(b.name)} sandbox=${sandboxes.get(b.name)} onTearDown=${tearDown} />`)}</ul>`
							: html`<${EmptyState} icon="machines" title="Nothing is up" action=${html`<${ButtonLink} kind="primary" icon="plus" href=${href.new()}>New run</${ButtonLink}>`}>
								<p>A machine is made when a run starts or a sandbox is asked for, which takes a second or so, and destroyed when the run is torn down or too old.</p></${EmptyState}>`
					}`
		}
		${connection.value.state === 'offline' && html`<${Notice} tone="wait" icon="warn"><p>You are offline. What stands here is what was last known.</p></${Notice}>`}
	</main>`
}
