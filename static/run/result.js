/*
 * How a run ended: in words, with what came out of it and what to do next. And the numbers of a run, which
 * stand here, in the header and in the details.
 */
import { html } from '../lib/html.js'
import { blobUrl } from '../lib/api.js'
import { href } from '../lib/router.js'
import { tokens, usesModel } from '../lib/run.js'
import { boxIsGone, stateKey } from '../lib/store.js'
import { REASONS, STATES } from '../lib/strings.js'
import { plural } from '../lib/text.js'
import { bytes, count, duration, money, parse } from '../lib/time.js'
import { visible } from './visible.js'

/** "1 line", "100,000 lines", "3 files". @param {number} n */
export const lineCount = (n, one = 'line') => `${n.toLocaleString('en')} ${n === 1 ? one : `${one}s`}`

/** How long a run has taken, or took; null before it has begun. @param {any} run @param {number} at now */
export function elapsed(run, at) {
	const from = parse(run.started_at ?? run.created_at)
	return from === null ? null : Math.max(0, (parse(run.finished_at) ?? at) - from)
}

/** "+12 −3", or nothing where the counts are not known or no line has changed. */
export function PatchStat({ patch }) {
	if (!patch || patch.added === null || patch.added === undefined || (!patch.added && !patch.removed)) return null
	return html`<span class="stat"><span class="stat-add">+${patch.added.toLocaleString('en')}</span> <span class="stat-del">−${patch.removed.toLocaleString('en')}</span></span>`
}

/**
 * The patches of a run: one for each tree that was changed. @param {any} run
 * @returns {{blob: string, tree?: string, size_bytes: number, files?: number, added?: number, removed?: number}[]}
 */
export const patchesOf = (run) => (run.patches?.length ? run.patches : run.patch ? [run.patch] : []).filter((p) => p.size_bytes)

/** All of them together; a number that is not known of one is not known. */
export function patchTotal(run) {
	const all = patchesOf(run)
	if (!all.length) return null
	const sum = (k) => (all.some((p) => p[k] === null || p[k] === undefined) ? null : all.reduce((n, p) => n + p[k], 0))
	return { trees: all.length, size_bytes: sum('size_bytes'), files: sum('files'), added: sum('added'), removed: sum('removed') }
}

const TITLES = {
	done: 'Finished',
	failed: 'It failed',
	stopped: 'It was ended by a person',
	lost: 'It was lost',
}

/* Why, in a sentence, where there is more to say than the state does. */
function why(run, turn) {
	const detail = turn?.detail ?? run.detail
	const reason =
		run.reason && run.reason !== 'ok' && run.reason !== 'operator' ? (REASONS[run.reason] ?? run.reason) : ''
	return { reason, detail: detail && detail !== reason ? detail : '' }
}

const Fact = ({ name, children }) => html`<div class="run-fact"><dt>${name}</dt><dd>${children}</dd></div>`

/** @param {{run: any, turn?: any}} p */
export function ResultCard({ run, turn }) {
	const { reason, detail } = why(run, turn)
	const tone = STATES[stateKey(run)]?.tone ?? 'quiet'
	const files = run.files?.length ?? 0
	const patch = patchTotal(run)
	const bundles = run.bundles?.length ? run.bundles : run.bundle ? [run.bundle] : []
	return html`<section class=${`result ${tone}`} aria-label="Result">
		<h2><span class="result-mark" aria-hidden="true"></span>${TITLES[run.state] ?? run.state}${reason && html`<span class="result-why">: ${reason}</span>`}</h2>
		${detail && html`<p class="result-detail">${visible(detail)}</p>`}
		<dl class="run-facts">
			${run.exit_code !== null && run.exit_code !== undefined && html`<${Fact} name="Exit code"><span class="mono">${run.exit_code}</span><//>`}
			<${Fact} name="Time">${duration(elapsed(run, Date.now()))}<//>
			${usesModel(run) && html`<${Fact} name="Tokens">${count(tokens(run.usage))}<//><${Fact} name="Cost">${money(run.usage?.cost_usd)}<//>`}
		</dl>
		<div class="result-out">
			${
				patch
					? html`<a class="out" href=${href.run(run.session, 'patch')} data-replace>
						<span class="out-name">Patch</span>
						<span class="out-more">${patch.files ? lineCount(patch.files, 'file') : bytes(patch.size_bytes)}${patch.trees > 1 && ` in ${patch.trees} trees`} <${PatchStat} patch=${patch} /></span>
					</a>`
					: html`<p class="out none"><span class="out-name">Patch</span><span class="out-more">${run.source === 'none' || run.source === 'task' ? 'There was no tree to change' : 'Nothing was changed'}</span></p>`
			}
			${
				files > 0 &&
				html`<a class="out" href=${href.run(run.session, 'files')} data-replace>
				<span class="out-name">Files</span><span class="out-more">${plural(files, 'file')} kept</span>
			</a>`
			}
			${bundles.map(
				(b) => html`<a class="out" key=${b.blob} href=${blobUrl(b.blob)} download>
				<span class="out-name">Commits${bundles.length > 1 && html` <span class="out-of">${visible(b.tree)}</span>`}</span><span class="out-more">bundle, ${bytes(b.size_bytes)}</span>
			</a>`,
			)}
			<a class="out" href=${href.run(run.session, 'log')} data-replace>
				<span class="out-name">Log</span><span class="out-more">${run.log_lines ? lineCount(run.log_lines) : bytes(run.log_bytes)}</span>
			</a>
		</div>
		<p class="result-note">${boxIsGone(run.box) ? 'Its box is gone. Trace, log, patch and files are kept.' : 'Its box is still there: tear it down when you need it no more.'}</p>
	</section>`
}
