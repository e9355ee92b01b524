/*
 * The facts of a run: where it runs and within which limits, what its box reached over the network, what it used.
 * All of it is rows of the site; what nobody reported is a dash.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { boxIsGone } from '../lib/store.js'
import { CLASSES, ISOLATION, isolationWords, reasonWords } from '../lib/strings.js'
import { plural } from '../lib/text.js'
import { absolute, binary, bytes, clock, count, duration, money, parse } from '../lib/time.js'
import { CopyButton, InlineError, Skeleton, TimeAgo } from '../lib/ui.js'
import { answeredBy } from './question.js'
import { took } from './tool.js'
import { visible } from './visible.js'

const Fact = ({ name, children }) =>
	children === null || children === undefined || children === ''
		? null
		: html`<div class="run-fact"><dt>${name}</dt><dd>${children}</dd></div>`

const Id = ({ text }) =>
	html`<code class="id">${visible(text)}</code><${CopyButton} text=${text} label=${`Copy ${text}`} iconOnly />`

const Part = ({ title, id, children, note }) => html`<section class="part" aria-labelledby=${`details-${id}`}>
	<h2 id=${`details-${id}`}>${title}</h2>
	${note && html`<p class="fine">${note}</p>`}
	${children}
</section>`

function Table({ label, head, rows }) {
	return html`<div class="table-scroll" tabindex="0" role="group" aria-label=${`${label}, table`}>
		<table class="grid">
			<thead><tr>${head.map((h) => html`<th scope="col" class=${h.num ? 'num' : null}>${h.name}</th>`)}</tr></thead>
			<tbody>${rows.map((row) => html`<tr class=${row.class ?? null}>${row.cells.map((c, i) => html`<td class=${head[i].num ? 'num' : null}>${c}</td>`)}</tr>`)}</tbody>
		</table>
	</div>`
}

function RunPart({ run, turns }) {
	return html`<${Part} title="Run" id="run">
		<dl class="run-facts list">
			<${Fact} name="Session"><${Id} text=${run.session} /><//>
			<${Fact} name="Agent">${run.agent}<//>
			${(run.repos ?? []).map((r) => html`<${Fact} name="Repository">${visible(r.repo)}${r.ref ? html` @ ${visible(r.ref)}` : ''}${r.dir ? html`<span class="fine"> in ${visible(r.dir)}</span>` : ''}<//>`)}
			${run.source === 'upload' && html`<${Fact} name="Tree">uploaded<//>`}
			${run.source === 'none' && html`<${Fact} name="Tree">none<//>`}
			<${Fact} name="Turns">${turns.length || run.turn}<//>
			<${Fact} name="Ended">${run.finished_at ? reasonWords(run.reason) || run.state : null}<//>
			<${Fact} name="Exit code">${run.exit_code === null || run.exit_code === undefined ? null : html`<span class="mono">${run.exit_code}</span>`}<//>
		</dl>
	<//>`
}

/* "memory_bytes" as words, and its value in its unit. */
function limitWords(key, value) {
	const name = key.replace(/_(bytes|ms|s|mb)$/, '').replace(/_/g, ' ')
	if (value === null || value === undefined) return [name, '—']
	if (key.endsWith('_bytes')) return [name, binary(value)]
	if (key.endsWith('_mb')) return [name, `${value} MiB`]
	if (key.endsWith('_ms')) return [name, took(value)]
	if (typeof value === 'boolean') return [name, value ? 'yes' : 'no']
	return [name, typeof value === 'object' ? JSON.stringify(value) : visible(String(value))]
}

/* What the kernels say: the host's of the box's process, the guest's where the host cannot see (its processes'
 * open files are many and nobody's business here), and whether the box could reach anything when it tried. */
function readBack({ spawn = {}, machine = {}, probe = {} }) {
	const { fds: _fds, ...host } = spawn
	const { clock_ms: _clock, uid: _uid, ...guest } = machine
	return { ...guest, ...host, ...('sealed' in probe ? { sealed: probe.sealed } : {}) }
}

/* What was asked for beside what the kernel says: a limit is believed when it was read back. */
function Limits({ box }) {
	const limits = box.limits ?? {}
	const back = readBack(box.readback ?? {})
	const keys = [...new Set([...Object.keys(limits), ...Object.keys(back)])]
	if (!keys.length) return null
	const rows = keys.map((k) => {
		const [name, value] = limitWords(k, limits[k])
		return { cells: [name, k in limits ? value : '—', k in back ? limitWords(k, back[k])[1] : '—'] }
	})
	return html`<h3>Limits</h3><${Table} label="Limits" head=${[{ name: 'Limit' }, { name: 'Set' }, { name: 'Read back' }]} rows=${rows} />`
}

function BoxPart({ box }) {
	if (!box) return null
	const isolation = ISOLATION[box.isolation]
	return html`<${Part} title="Box" id="box" note=${boxIsGone(box) ? 'It is gone; what it wrote is kept.' : null}>
		<dl class="run-facts list">
			<${Fact} name="Name"><${Id} text=${box.name} /><//>
			<${Fact} name="State"><span>${box.state}${box.reason ? html`<span class="fine">, ${reasonWords(box.reason)}</span>` : ''}</span><//>
			<${Fact} name="Image">${box.image && visible(box.image)}<//>
			<${Fact} name="Class">${box.class && html`${CLASSES[box.class] ?? box.class}<span class="fine block">${plural(box.cpus ?? 0, 'processor')}, ${binary(box.memory_bytes)} memory, ${binary(box.disk_bytes)} disk</span>`}<//>
			<${Fact} name="Isolation">${box.isolation && html`${isolationWords(box.isolation)}${isolation && html`<span class="fine block">${isolation.means}</span>`}`}<//>
			<${Fact} name="Runtime">${box.runtime}<//>
			<${Fact} name="Kernel">${box.guest_kernel && html`<code>${visible(box.guest_kernel)}</code>`}<//>
			<${Fact} name="Destroyed at the latest">${!boxIsGone(box) && box.expires_at ? absolute(parse(box.expires_at)) : null}<//>
		</dl>
		<${Limits} box=${box} />
	<//>`
}

function UsagePart({ run, turns }) {
	const rows = turns
		.filter((t) => t.usage)
		.map((t) => ({
			cells: [
				t.turn,
				count(t.usage.input_tokens),
				count(t.usage.output_tokens),
				count(t.usage.cache_read_tokens),
				count(t.usage.cache_write_tokens),
				money(t.usage.cost_usd),
			],
		}))
	if (run.usage && rows.length > 1)
		rows.push({
			class: 'sum',
			cells: [
				'All',
				count(run.usage.input_tokens),
				count(run.usage.output_tokens),
				count(run.usage.cache_read_tokens),
				count(run.usage.cache_write_tokens),
				money(run.usage.cost_usd),
			],
		})
	const num = (name) => ({ name, num: true })
	return html`<${Part} title="Usage by turn" id="usage">
		${
			rows.length
				? html`<${Table} label="Usage by turn" head=${[{ name: 'Turn' }, num('Input'), num('Output'), num('Cache read'), num('Cache write'), num('Cost')]} rows=${rows} />`
				: html`<p class="fine">${run.agent === 'script' ? 'A script uses no model.' : 'Nothing was reported yet.'}</p>`
		}
	<//>`
}

const at = (ts) => html`<time datetime=${ts} title=${absolute(parse(ts))}>${clock(parse(ts))}</time>`

function Egress({ rows }) {
	const refused = rows.filter((r) => !r.allowed).length
	const head = [
		{ name: 'Time' },
		{ name: 'Route' },
		{ name: 'Target' },
		{ name: 'Decision' },
		{ name: 'Sent', num: true },
		{ name: 'Received', num: true },
	]
	return html`<${Part} title="Network" id="network" note=${rows.length ? `${plural(rows.length, 'decision')} of the gate${refused ? `, ${refused} refused` : ''}. The box has no network card: this is all it can reach.` : 'The box has no network card, and asked the gate for nothing.'}>
		${
			rows.length > 0 &&
			html`<${Table} label="Decisions of the gate" head=${head} rows=${rows.map((r) => ({
				class: r.allowed ? '' : 'refused',
				cells: [
					at(r.ts),
					r.route,
					html`<span class="mono break">${visible(r.target ?? '')}</span>`,
					html`<span class=${r.allowed ? 'yes' : 'no'}>${r.allowed ? '✓ allowed' : '✕ refused'}</span>${r.reason ? html`<span class="fine block">${visible(r.reason)}</span>` : ''}`,
					bytes(r.bytes_up),
					bytes(r.bytes_down),
				],
			}))} />`
		}
	<//>`
}

function Calls({ calls }) {
	if (!calls?.length) return null
	const num = (name) => ({ name, num: true })
	return html`<${Part} title="Model calls" id="calls">
		<${Table} label="Model calls" head=${[{ name: 'Time' }, { name: 'Model' }, { name: 'Status' }, num('In'), num('Out'), num('Took')]} rows=${calls.map(
			(c) => ({
				class: c.error || c.status >= 400 ? 'refused' : '',
				cells: [
					at(c.ts),
					html`<span class="break">${visible(c.model ?? '—')}</span>`,
					c.error ? html`<span class="no">${c.status || '—'} ${visible(c.error)}</span>` : c.status,
					count(c.input_tokens),
					count(c.output_tokens),
					took(c.ms),
				],
			}),
		)} />
	<//>`
}

/* Fetched when it is looked at, and again when a turn has ended. */
function Gate({ run }) {
	const [state, setState] = useState({ name: 'loading' })
	const load = async (signal) => {
		try {
			setState({ name: 'ready', data: await get('/egress.json', { session: run.session }, { signal }) })
		} catch (error) {
			if (error.name !== 'AbortError') setState((s) => (s.name === 'ready' ? s : { name: 'error', error }))
		}
	}
	useEffect(() => {
		const abort = new AbortController()
		load(abort.signal)
		return () => abort.abort()
	}, [run.session, run.state, run.turn])
	if (state.name === 'loading')
		return html`<${Part} title="Network" id="network"><${Skeleton} rows=${2} label="Loading network decisions" /><//>`
	if (state.name === 'error')
		return html`<${Part} title="Network" id="network"><${InlineError} error=${state.error} title="Network decisions could not be loaded" retry=${() => load()} /><//>`
	return html`<${Egress} rows=${state.data.rows} /><${Calls} calls=${state.data.model_calls} />`
}

/** What happened to the run, in order: [when, what]. */
export function timeline({ run, turns, questions }) {
	const out = [[run.created_at, 'Delegated']]
	if (run.box?.ready_at) out.push([run.box.ready_at, 'Box ready'])
	if (run.started_at) out.push([run.started_at, 'Started'])
	for (const q of questions) {
		out.push([q.asked_at, 'Asked a question'])
		if (q.answered_at) out.push([q.answered_at, `Answered ${answeredBy(q.answered_by)}`.trim()])
	}
	for (const t of turns)
		if (t.finished_at && t.state !== 'asked' && t.turn !== run.turn)
			out.push([t.finished_at, `Turn ${t.turn} ended: ${t.state}`])
	if (run.finished_at)
		out.push([
			run.finished_at,
			`Ended: ${run.state}${run.reason && run.reason !== 'ok' ? `, ${reasonWords(run.reason)}` : ''}`,
		])
	return out.filter(([ts]) => ts).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))
}

function TimelinePart({ f }) {
	const rows = timeline(f)
	const start = parse(rows[0]?.[0])
	return html`<${Part} title="Timeline" id="timeline">
		<ol class="timeline">${rows.map(([ts, what], i) => html`<li key=${`${ts} ${what}`}><span class="timeline-what">${what}</span><span class="timeline-at">${i ? `+${duration(parse(ts) - start)}` : html`<${TimeAgo} at=${ts} />`}</span></li>`)}</ol>
	<//>`
}

/** @param {{f: any}} p the run in focus */
export function Details({ f }) {
	return html`<div class="details">
		<${RunPart} run=${f.run} turns=${f.turns} />
		<${TimelinePart} f=${f} />
		<${BoxPart} box=${f.run.box} />
		<${UsagePart} run=${f.run} turns=${f.turns} />
		<${Gate} run=${f.run} />
	</div>`
}

export const DetailsTab = ({ f }) =>
	html`<div class="pane-scroll" tabindex="0" role="region" aria-label="Details"><div class="column wide"><${Details} f=${f} /></div></div>`
