/* What a run says of itself in one line: its trees, its time, its tokens and cost. For lists and heads. */
import { html } from './html.js'
import { connection, heardAt } from './events.js'
import { isActive } from './store.js'
import { UNKNOWN } from './strings.js'
import { oneLine, visible } from './text.js'
import { count, duration, money, now, parse } from './time.js'
import { Foreign, Icon } from './ui.js'

/** "acme/queue@main", "uploaded tree", "no repository". @param {any} run */
export function sourceText(run) {
	if (run.repos?.length) return run.repos.map((r) => `${r.repo}${r.ref ? `@${r.ref}` : ''}`).join(', ')
	if (run.source === 'upload') return 'uploaded tree'
	if (run.source === 'git') return 'repository'
	return run.source === 'none' ? 'no repository' : ''
}

export const Source = ({ run }) => {
	const text = sourceText(run)
	if (!text) return null
	const icon = run.source === 'upload' ? 'upload' : run.source === 'none' ? 'box' : 'branch'
	return html`<span class="source" title=${visible(text)}><${Icon} name=${icon} size=${14} /><span><${Foreign} text=${oneLine(text, 90)} /></span></span>`
}

/** How long it has worked, ms; the clock stands while nobody tells us that it still runs. @param {any} run */
export function workedMs(run) {
	const from = parse(run.started_at)
	if (from === null) return null
	const end = parse(run.finished_at)
	if (end !== null) return end - from
	if (!isActive(run)) return null
	return Math.max(0, (connection.value.state === 'live' ? now.value : heardAt() || now.value) - from)
}

/** All tokens of a usage, or null where none are reported. @param {any} u */
export function tokens(u) {
	if (!u) return null
	const parts = [u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens].filter((n) => n !== null && n !== undefined)
	return parts.length ? parts.reduce((a, b) => a + b, 0) : null
}

const usageTitle = (u) =>
	u
		? `Input ${count(u.input_tokens)}, output ${count(u.output_tokens)}, read from cache ${count(u.cache_read_tokens)}, written to cache ${count(u.cache_write_tokens)}`
		: 'The agent does not report tokens'

/** Whether tokens and cost say something: a script calls no model. @param {any} run */
export const usesModel = (run) => run.agent !== 'script' || !!run.usage

/** time · tokens · cost; a dash is "not known", never nought. @param {{run: any}} p */
export const Meter = ({ run }) => {
	const all = tokens(run.usage)
	const cost = run.usage?.cost_usd
	return html`<span class="meter num">
		<span title="Time it has worked"><span class="sr-only">Time </span>${duration(workedMs(run))}</span>
		${usesModel(run) && html`<span title=${usageTitle(run.usage)}><span class="sr-only">Tokens </span>${all === null ? UNKNOWN : html`${count(all)}<span class="unit"> tok</span>`}</span>
		<span title=${cost === undefined || cost === null ? 'The agent does not report a cost' : 'Cost as the agent reports it'}><span class="sr-only">Cost </span>${money(cost)}</span>`}
	</span>`
}
