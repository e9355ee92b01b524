/*
 * The list of runs, which is home. What waits for a person is on top and is answered in place; then what works, then
 * the rest, newest first. Nothing moves under a pointer: while one is over the list, rows stay where they are.
 */
import { Component, html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { connection, resync } from '../lib/events.js'
import { href, navigate, route } from '../lib/router.js'
import { Meter, Source, sourceText } from '../lib/run.js'
import { isTyping, keysOn } from '../lib/shell.js'
import { fleet, isActive, runs, stateKey, waiting, working } from '../lib/store.js'
import { reasonWords } from '../lib/strings.js'
import { oneLine, plural, visible } from '../lib/text.js'
import { now } from '../lib/time.js'
import { Button, ButtonLink, Chip, EmptyState, Foreign, Icon, InlineError, Menu, Skeleton, StateStamp, TimeAgo, toast, useTitle } from '../lib/ui.js'
import { QuestionCard } from '../run/question.js'
import { STARTERS } from './starters.js'

const FILTERS = [
	['', 'All', () => true],
	['waiting', 'Needs you', (r) => r.state === 'waiting'],
	['working', 'Working', isActive],
	['done', 'Done', (r) => r.state === 'done'],
	['failed', 'Failed', (r) => r.state === 'failed' || r.state === 'lost'],
	['ended', 'Torn down', (r) => r.state === 'stopped'],
]
const RANK = { waiting: 'waiting', queued: 'working', starting: 'working', running: 'working' }
const IDLE_MS = 2000

// --- one row --------------------------------------------------------------------------------------

/** The last thing there is to know, in a line. */
function lastLine(run) {
	if (run.state === 'failed' || run.state === 'lost') {
		const why = run.detail || reasonWords(run.reason)
		return run.exit_code ? `exit ${run.exit_code} · ${why}` : why
	}
	if (run.state === 'queued') return 'Waiting for a free place'
	if (run.state === 'starting') return 'The machine is being made'
	return run.last?.text ?? ''
}

const lastAt = (run) => run.finished_at ?? run.last?.ts ?? run.started_at ?? run.created_at

async function copyLink(run) {
	const link = location.origin + href.run(run.session)
	try {
		await navigator.clipboard.writeText(link)
		toast('Link copied')
	} catch {
		toast(`The browser does not allow copying here: ${link}`)
	}
}

function RunRow({ run }) {
	const key = stateKey(run)
	const last = lastLine(run)
	return html`<li class=${`run-row is-${key}`} data-run=${run.session}>
		<span class="row-state"><${StateStamp} state=${key} /></span>
		<div class="row-main">
			<a class="row-title" href=${href.run(run.session)}><${Foreign} text=${oneLine(run.title, 200)} /></a>
			<p class="row-sub"><${Source} run=${run} />${last && html`<span class="row-last"><${Foreign} text=${oneLine(last, 160)} /></span>`}</p>
		</div>
		<div class="row-side"><span class="row-age num"><${TimeAgo} at=${lastAt(run)} /></span><${Meter} run=${run} /></div>
		<div class="row-menu"><${Menu} label=${`More about ${visible(oneLine(run.title, 60))}`} items=${[
			{ label: 'Open', icon: 'arrow', action: () => navigate(href.run(run.session)) },
			{ label: 'Log', icon: 'log', action: () => navigate(href.run(run.session, 'log')) },
			{ label: 'Run it again', icon: 'refresh', action: () => navigate(`${href.new()}?from=${run.session}`) },
			{ label: 'Copy link', icon: 'link', action: () => copyLink(run) },
		]} /></div>
	</li>`
}

/** A snapshot has each run anew: a row is drawn again where it says something else. */
const words = (run) => JSON.stringify({ ...run, seq: 0 })
class Row extends Component {
	shouldComponentUpdate({ run }) {
		return run !== this.props.run && words(run) !== words(this.props.run)
	}
	render({ run }) {
		return html`<${RunRow} run=${run} />`
	}
}

// --- what waits -----------------------------------------------------------------------------------

/** One of the runs that wait. More than three are folded to a line, and one is open at a time. */
function Waiting({ run, folded, onOpen }) {
	const q = run.question
	return html`<article class=${`waiting-card ${folded ? 'folded' : ''}`} data-run=${run.session} aria-label=${visible(`Needs you: ${oneLine(run.title, 120)}`)}>
		<header class="waiting-head">
			<a class="row-title" href=${href.run(run.session)}><${Foreign} text=${oneLine(run.title, 200)} /></a>
			<span class="waiting-meta"><${Source} run=${run} />${q && folded && html`<span class="row-age"><${TimeAgo} at=${q.asked_at} prefix="asked " /></span>`}</span>
		</header>
		${
			folded
				? html`<button type="button" class="waiting-fold" onClick=${onOpen} aria-expanded="false"><span><${Foreign} text=${oneLine(q?.text ?? '', 160)} /></span><span class="button small">Answer</span></button>`
				: q && html`<${QuestionCard} run=${run} question=${q} compact />`
		}
	</article>`
}

function NeedsYou({ list }) {
	const [open, setOpen] = useState(null)
	if (!list.length) return null
	const fold = list.length > 3
	const opened = list.some((r) => r.session === open) ? open : list[0].session
	return html`<section class="group" aria-labelledby="g-waiting"><h2 id="g-waiting" class="group-title tone-wait">Needs you <span class="group-count">${list.length}</span></h2>
		<div class="waiting-list">${list.map(
			(r) => html`<${Waiting} key=${r.session} run=${r} folded=${fold && r.session !== opened} onOpen=${() => setOpen(r.session)} />`,
		)}</div></section>`
}

/**
 * How many rows of the list are drawn: none with the head of the screen, then a few with each frame, so that no frame is
 * long; more where the browser knows by then how they are made.
 */
let room = 0
function useRoom(wanted) {
	const [, again] = useState(0)
	useEffect(() => {
		if (room < wanted) again((room += room < 16 ? 2 : 8))
	})
	return room
}

const Group = ({ id, title, list, count }) =>
	list.length > 0 &&
	html`<section class="group" aria-labelledby=${`g-${id}`}><h2 id=${`g-${id}`} class="group-title">${title} <span class="group-count">${count}</span></h2>
		<ul class="run-list">${list.map((r) => html`<${Row} key=${r.session} run=${r} />`)}</ul></section>`

// --- where rows stand -----------------------------------------------------------------------------

/**
 * Groups of runs, newest first. While `held`, rows stay where they were, and new ones wait. A run that begins to wait
 * for a person moves all the same.
 */
function useGroups(list, held) {
	const before = useRef(new Map())
	const groups = { waiting: [], working: [], recent: [] }
	for (const r of list) {
		const g = RANK[r.state] ?? 'recent'
		const old = before.current.get(r.session)
		if (!held || g === 'waiting' || old?.g === 'waiting') groups[g].push({ r, i: -1 })
		else if (old) groups[old.g].push({ r, i: old.i })
	}
	if (held) for (const g of ['working', 'recent']) groups[g].sort((a, b) => a.i - b.i)
	const order = waiting.value.map((r) => r.session)
	groups.waiting.sort((a, b) => order.indexOf(a.r.session) - order.indexOf(b.r.session))
	const now = new Map()
	for (const g of Object.keys(groups)) groups[g].forEach(({ r }, i) => now.set(r.session, { g, i }))
	before.current = now
	return Object.fromEntries(Object.entries(groups).map(([g, v]) => [g, v.map((x) => x.r)]))
}

/** True while a pointer is over it and has moved in the last two seconds. */
function useHeld() {
	const [held, setHeld] = useState(false)
	const timer = useRef(0)
	const frame = useRef(0)
	const stop = () => {
		clearTimeout(timer.current)
		cancelAnimationFrame(frame.current)
	}
	const release = () => {
		stop()
		setHeld(false)
	}
	// a browser hands over movements with frames: on a busy device one may wait behind the timer that it renews
	const rest = () => {
		frame.current = requestAnimationFrame(release)
	}
	const hold = (e) => {
		if (e.pointerType !== 'mouse') return
		setHeld(true)
		stop()
		timer.current = setTimeout(rest, IDLE_MS)
	}
	useEffect(() => stop, [])
	return [held, { onPointerMove: hold, onPointerLeave: release }]
}

/** j and k go from row to row; Enter is the link's own. */
function useRowKeys() {
	useEffect(() => {
		const key = (e) => {
			if ((e.key !== 'j' && e.key !== 'k') || e.ctrlKey || e.metaKey || e.altKey || !keysOn.peek() || isTyping(e.target)) return
			const rows = [...document.querySelectorAll('.row-title')]
			if (!rows.length || document.querySelector('dialog[open]')) return
			const at = rows.findIndex((a) => a.closest('[data-run]').contains(document.activeElement))
			const to = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + (e.key === 'j' ? 1 : -1)))
			rows[to].focus()
			rows[to].closest('[data-run]').scrollIntoView({ block: 'nearest' })
			e.preventDefault()
		}
		document.addEventListener('keydown', key)
		return () => document.removeEventListener('keydown', key)
	}, [])
}

// --- nothing there --------------------------------------------------------------------------------

const FirstUse = () => html`<section class="first-use card">
	<h2>Hand over your first task</h2>
	<p class="lead">An agent works on it in a machine of its own. You watch, answer when it asks, and take the patch.</p>
	<ol class="steps">
		<li><span class="step-n">1</span><div><strong>Write the task</strong><p>In plain words, or as a shell script. Name a repository, or upload a working tree.</p></div></li>
		<li><span class="step-n">2</span><div><strong>Answer when it asks</strong><p>A question stops the agent in the middle of what it does. It waits here, on top of everything.</p></div></li>
		<li><span class="step-n">3</span><div><strong>Take what it made</strong><p>Trace, log, patch and files stay after the machine is gone.</p></div></li>
	</ol>
	<div class="starters"><h3>Or start with one of these</h3>${STARTERS.map(
		(s) => html`<a key=${s.id} class="starter" href=${`${href.new()}?starter=${s.id}`}><strong>${s.title}</strong><span>${s.what}</span><${Icon} name="arrow" size=${18} /></a>`,
	)}</div>
	<${ButtonLink} kind="primary" icon="plus" href=${href.new()}>New run</${ButtonLink}>
</section>`

function NotLoaded() {
	const late = now.value - connection.value.since > 5000
	if (connection.value.state !== 'live' && late)
		return html`<${InlineError} title="The runs could not be loaded" retry=${() => resync()}
			error=${{ message: connection.value.state === 'offline' ? 'You are offline.' : 'The server cannot be reached.', fix: 'Runs go on meanwhile. This page comes back by itself.' }} />`
	return html`<${Skeleton} rows=${3} label="Loading runs" />`
}

// --- the screen -----------------------------------------------------------------------------------

const matches = (q) => {
	const words = q.toLowerCase().split(/\s+/).filter(Boolean)
	return (r) => {
		const text = `${r.title} ${sourceText(r)} ${r.session} ${r.agent} ${r.last?.text ?? ''} ${r.task ?? ''}`.toLowerCase()
		return words.every((w) => text.includes(w))
	}
}

function setQuery(q, state) {
	const p = new URLSearchParams()
	if (q) p.set('q', q)
	if (state) p.set('state', state)
	const s = p.toString()
	navigate(`${href.runs()}${s ? `?${s}` : ''}`, { replace: true })
}

export function RunsScreen() {
	useTitle('Runs')
	useRowKeys()
	const [held, hover] = useHeld()
	const q = route.value.query.get('q') ?? ''
	const state = route.value.query.get('state') ?? ''
	const all = runs.value
	const filter = (FILTERS.find((f) => f[0] === state) ?? FILTERS[0])[2]
	const found = useMemo(() => all.filter(matches(q)), [all, q])
	const groups = useGroups(found.filter(filter), held)
	const shown = groups.waiting.length + groups.working.length + groups.recent.length
	const room = useRoom(shown)
	const recent = groups.recent.slice(0, Math.max(0, room - groups.working.length))
	const loaded = fleet.value.at > 0
	const summary = [
		waiting.value.length && `${plural(waiting.value.length, 'needs', 'need')} you`,
		working.value.length && `${working.value.length} working`,
	].filter(Boolean)
	return html`<main class="page runs" id="main" tabindex="-1">
		<header class="page-head"><h1>Runs</h1>${summary.length > 0 && html`<p class="page-sub">${summary.join(' · ')}</p>`}
			<${ButtonLink} kind="primary" icon="plus" href=${href.new()} class="head-new">New run</${ButtonLink}></header>
		${
			loaded && all.length > 0 &&
			html`<div class="filters">
				<div class="search"><${Icon} name="search" size=${18} /><input class="input" type="search" data-search aria-label="Search runs" placeholder="Search runs" value=${q}
					onInput=${(e) => setQuery(e.currentTarget.value, state)} onKeyDown=${(e) => e.key === 'Escape' && (q ? setQuery('', state) : e.currentTarget.blur())} />
					<kbd class="search-key" aria-hidden="true">/</kbd></div>
				<div class="chips" role="group" aria-label="Which runs">${FILTERS.map(([key, label, f]) => {
					const n = found.filter(f).length
					return (key === '' || n > 0 || key === state) && html`<${Chip} key=${key} pressed=${key === state} count=${n} onClick=${() => setQuery(q, key === state ? '' : key)}>${label}</${Chip}>`
				})}</div>
			</div>`
		}
		${!loaded && html`<${NotLoaded} />`}
		${loaded && all.length === 0 && html`<${FirstUse} />`}
		${
			loaded && all.length > 0 && shown === 0 &&
			html`<${EmptyState} icon="search" title="Nothing matches" action=${html`<${Button} action=${() => setQuery('', '')}>Show all runs</${Button}>`}>
				<p>No run has ${q ? html`“${visible(q)}” in its title, tree, task or last line` : 'this state'}.</p></${EmptyState}>`
		}
		<div class="groups" ...${hover}>
			<${NeedsYou} list=${groups.waiting} />
			<${Group} id="working" title="Working" list=${groups.working.slice(0, room)} count=${groups.working.length} />
			<${Group} id="recent" title="Recent" list=${recent} count=${groups.recent.length} />
		</div>
	</main>`
}
