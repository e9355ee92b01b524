/*
 * The page of one run: its head, its tabs, the question it has stopped at, and beside them (where there is room) its
 * details. What it shows is the run in focus of the store; the stream keeps that true.
 */
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { connection, loadFocus, setFocus } from '../lib/events.js'
import { useMedia } from '../lib/media.js'
import { back, href, navigate } from '../lib/router.js'
import { tokens, usesModel } from '../lib/run.js'
import { applyWatch, focus, isActive, stateKey } from '../lib/store.js'
import { oneLine } from '../lib/text.js'
import { count, duration, money, now } from '../lib/time.js'
import {
	announce,
	Button,
	ButtonLink,
	CopyButton,
	EmptyState,
	Icon,
	IconButton,
	InlineError,
	Menu,
	Skeleton,
	StateStamp,
	Tabs,
	toast,
	useCommands,
	useTitle,
} from '../lib/ui.js'
import { QuestionDock } from './question.js'
import { elapsed, patchTotal, PatchStat } from './result.js'
import { Lazy } from './lazy.js'
import { canTearDown, TeardownDialog } from './teardown.js'
import { TraceTab } from './trace.js'
import { visible } from './visible.js'

const REFRESH_MS = 15_000

/* The height that is really there, also with a keyboard over the page: CSS has no unit for it. */
function useVisualHeight() {
	useEffect(() => {
		const v = window.visualViewport
		const root = document.documentElement
		const set = () => root.style.setProperty('--visual', `${Math.round(v?.height ?? innerHeight)}px`)
		set()
		v?.addEventListener('resize', set)
		addEventListener('resize', set)
		return () => {
			v?.removeEventListener('resize', set)
			removeEventListener('resize', set)
			root.style.removeProperty('--visual')
		}
	}, [])
}

/* Events do not say everything (usage, files, the patch's counts): the run is fetched again when its state has
 * changed, and now and then while it works. */
function useRefresh(run) {
	const first = useRef(true)
	const refresh = async () => {
		try {
			applyWatch(await get('/watch.json', { session: run.session }))
		} catch {
			// the stream's own repair tells of a site that is not there
		}
	}
	useEffect(() => {
		if (first.current) return void (first.current = false)
		// at once, and again when what was saved after a turn's end is there
		const timers = [300, 2000, 6000].map((ms) => setTimeout(refresh, ms))
		return () => timers.forEach(clearTimeout)
	}, [run.state, run.turn, run.box?.state, run.patch?.blob])
	useEffect(() => {
		if (!isActive(run)) return
		const timer = setInterval(
			() => document.visibilityState === 'visible' && connection.peek().state === 'live' && refresh(),
			REFRESH_MS,
		)
		return () => clearInterval(timer)
	}, [run.session, isActive(run)])
}

/* Time, tokens, cost: what is not known is a dash. It ticks by itself, so that the page does not. */
function Meter({ run }) {
	const ticking = isActive(run) && connection.value.state === 'live'
	const ms = elapsed(run, ticking ? now.value : now.peek())
	return html`<dl class="run-meter">
		<div><dt class="sr-only">Time</dt><dd title="Time">${duration(ms)}</dd></div>
		${
			usesModel(run) &&
			html`<div><dt class="sr-only">Tokens</dt><dd title="Tokens">${count(tokens(run.usage))} tok</dd></div>
		<div><dt class="sr-only">Cost</dt><dd title="Cost">${money(run.usage?.cost_usd)}</dd></div>`
		}
	</dl>`
}

function Where({ run }) {
	const repos = run.repos ?? []
	if (!repos.length)
		return run.source === 'upload'
			? html`<span class="where"><${Icon} name="upload" size=${14} /> uploaded tree</span>`
			: null
	const [r] = repos
	return html`<span class="where"><${Icon} name="branch" size=${14} /> <span>${visible(r.repo)}${r.ref ? html`<span class="ref">@${visible(r.ref)}</span>` : ''}${repos.length > 1 ? ` +${repos.length - 1}` : ''}</span></span>`
}

const copyLink = async () => {
	try {
		await navigator.clipboard.writeText(location.href)
		toast('Link copied.')
	} catch {
		toast('The browser does not allow copying here.')
	}
}

/* A new run with what this one was given. */
const again = (run) => `${href.new()}?from=${run.session}`

function Head({ run, onTearDown }) {
	const can = canTearDown(run)
	const over = !isActive(run) && run.state !== 'waiting'
	return html`<header class="run-head">
		<${IconButton} icon="left" label="Back to runs" action=${() => back(href.runs())} class="run-back" />
		<div class="run-what">
			<h1 title=${run.title}>${visible(oneLine(run.title ?? run.session, 200))}</h1>
			<div class="run-line"><${StateStamp} state=${stateKey(run)} /><${Where} run=${run} /><${Meter} run=${run} /></div>
		</div>
		<div class="run-actions">
			<${CopyButton} text=${() => location.href} label="Copy link" />
			${over && html`<${ButtonLink} small icon="refresh" href=${again(run)}>Run it again<//>`}
			${can && html`<${Button} small kind="plain" class="danger-text" icon="gone" action=${onTearDown}>Tear down<//>`}
		</div>
		<div class="run-menu">
			<${Menu} label="Actions" items=${[{ label: 'Copy link', icon: 'link', action: copyLink }, over && { label: 'Run it again', icon: 'refresh', href: again(run) }, can && { label: 'Tear down…', icon: 'gone', danger: true, action: onTearDown }]} />
		</div>
	</header>`
}

function tabsOf(f, wide) {
	const { run, session } = f
	const tab = (key, label, count) => ({ key, label, count, href: href.run(session, key) })
	const total = patchTotal(run)
	const patch = total && total.added !== null ? html`<${PatchStat} patch=${total} />` : undefined
	return [
		tab('trace', 'Trace'),
		tab('log', 'Log'),
		tab('patch', 'Patch', patch),
		tab('files', 'Files', run.files?.length || undefined),
		!wide && tab('details', 'Details'),
	].filter(Boolean)
}

const TAB_ICONS = { trace: 'trace', log: 'log', patch: 'patch', files: 'file', details: 'info' }

/* Only the trace is fetched with the page. */
const LOADS = {
	log: () => import('./log.js').then((m) => m.LogTab),
	patch: () => import('./patch.js').then((m) => m.PatchTab),
	files: () => import('./files.js').then((m) => m.FilesTab),
	details: () => import('./details.js').then((m) => m.DetailsTab),
	side: () => import('./details.js').then((m) => m.Details),
}

function Body({ f, tab, wide }) {
	const name = tab === 'details' && wide ? 'trace' : tab
	// lines of code want the whole width
	const side = wide && name !== 'log' && name !== 'patch'
	return html`<div class=${`run-body${side ? ' with-side' : ''}`}>
		<div class="run-main">
			${LOADS[name] ? html`<${Lazy} key=${name} load=${LOADS[name]} f=${f} wide=${wide} />` : html`<${TraceTab} f=${f} />`}
			<${QuestionDock} f=${f} />
		</div>
		${side && html`<section class="run-side" aria-label="Details" tabindex="0"><${Lazy} load=${LOADS.side} f=${f} /></section>`}
	</div>`
}

function Ready({ f, tab, wide }) {
	const { run } = f
	const [tearing, setTearing] = useState(false)
	useRefresh(run)
	useCommands([
		...tabsOf(f, wide).map((t) => ({ label: `This run: ${t.label.toLowerCase()}`, icon: TAB_ICONS[t.key], action: () => navigate(t.href, { replace: true }) })),
		{ label: 'This run: copy link', icon: 'link', action: copyLink },
		{ label: 'This run: run it again', icon: 'refresh', action: () => navigate(again(run)) },
		...(canTearDown(run) ? [{ label: 'This run: tear down…', icon: 'gone', danger: true, action: () => setTearing(true) }] : []),
	])
	// on a phone the last tabs may be out of sight
	useEffect(
		() =>
			document
				.querySelector('.run > .tabs [aria-current]')
				?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
		[tab],
	)
	return html`<${Head} run=${run} onTearDown=${() => setTearing(true)} />
		<${Tabs} label="Parts of the run" current=${tab === 'details' && wide ? 'trace' : tab} items=${tabsOf(f, wide)} />
		<${Body} f=${f} tab=${tab} wide=${wide} />
		${tearing && html`<${TeardownDialog} run=${run} onClose=${() => setTearing(false)} />`}`
}

/* While it is fetched: its head from the list, if it was in it. */
function Loading({ run }) {
	return html`<header class="run-head">
			<${IconButton} icon="left" label="Back to runs" action=${() => back(href.runs())} class="run-back" />
			<div class="run-what">
				<h1>${run?.title ? visible(oneLine(run.title, 200)) : 'Run'}</h1>
				<div class="run-line">${run?.state && html`<${StateStamp} state=${stateKey(run)} />`}</div>
			</div>
		</header>
		<div class="run-body"><div class="run-main"><div class="pane-scroll"><div class="column"><${Skeleton} rows=${5} label="Loading the run" /></div></div></div></div>`
}

const Gone = () => html`<div class="run-none">
	<h1 class="sr-only">No such run</h1>
	<${EmptyState} icon="gone" title="There is no such run" action=${html`<${ButtonLink} kind="primary" href=${href.runs()}>All runs<//>`}>It does not exist, or it is not yours. The address may be cut off or mistyped.<//>
</div>`

const Failed = ({ error }) => html`<div class="run-none">
	<h1 class="sr-only">Run</h1>
	<${InlineError} error=${error} title="The run could not be loaded" retry=${loadFocus} />
</div>`

/** @param {{session: string, tab: string}} p */
export function RunPage({ session, tab }) {
	// whether there is room for the details beside the trace
	const wide = useMedia('(min-width: 1280px)')
	const f = focus.value
	useVisualHeight()
	useEffect(() => void setFocus(session), [session])
	useEffect(() => () => void setFocus(null), [])
	const here = f?.session === session ? f : null
	useTitle(here?.run?.title ? oneLine(here.run.title, 80) : 'Run')
	const inside =
		here?.status === 'ready'
			? html`<${Ready} f=${here} tab=${tab} wide=${wide} />`
			: here?.status === 'gone'
				? html`<${Gone} />`
				: here?.status === 'error'
					? html`<${Failed} error=${here.error} />`
					: html`<${Loading} run=${here?.run} />`
	return html`<main class="run" id="main" tabindex="-1" data-state=${here?.run?.state} data-tab=${tab}>${inside}</main>`
}
