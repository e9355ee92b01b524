/*
 * The patch tab: what a run changed, file by file. A run with several trees has a patch of each, one on the page at a
 * time. A patch is fetched once and cut here; a file is drawn when it comes near the window, in one column or, where
 * there is room, in two. Generated and large files are folded and say why.
 */
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { blobUrl, getRaw } from '../lib/api.js'
import { href, route } from '../lib/router.js'
import { isActive } from '../lib/store.js'
import { bytes } from '../lib/time.js'
import { Button, ButtonLink, EmptyState, InlineError, Notice, Skeleton } from '../lib/ui.js'
import { indexPatch } from './diff.js'
import { DiffFile } from './difffile.js'
import { lineCount, patchesOf, PatchStat } from './result.js'
import { visible } from './visible.js'

/* Larger patches are asked about first; files on the page at first, and names in the list. */
const ASK_BYTES = 12 * 1024 * 1024
const STEP = 60
const NAMES = 400

/* The text of a patch: loading, large {size}, error, ready {text, index}. */
function usePatch(blob, size) {
	const [state, setState] = useState({ name: 'loading' })
	const load = async (signal) => {
		setState({ name: 'loading' })
		try {
			const text = await (await getRaw('/blob', { name: blob }, { signal })).text()
			setState({ name: 'ready', blob, text, index: indexPatch(text) })
		} catch (error) {
			if (error.name !== 'AbortError') setState({ name: 'error', error })
		}
	}
	useEffect(() => {
		const abort = new AbortController()
		if (size > ASK_BYTES) setState({ name: 'large' })
		else load(abort.signal)
		return () => abort.abort()
	}, [blob])
	return [state, () => load()]
}

/* Which files a person has ticked as seen: kept on this device, by patch. */
function useViewed(blob) {
	const key = `viewed:${blob}`
	const read = () => {
		try {
			return new Set(JSON.parse(localStorage.getItem(key) ?? '[]'))
		} catch {
			return new Set()
		}
	}
	const [viewed, set] = useState(read)
	const toggle = (path) => {
		const next = new Set(viewed)
		if (!next.delete(path)) next.add(path)
		set(next)
		try {
			localStorage.setItem(key, JSON.stringify([...next].slice(-2000)))
		} catch {
			// not kept: it still holds on this page
		}
	}
	return [viewed, toggle]
}

function Names({ files, onGo, viewed }) {
	const [filter, setFilter] = useState('')
	const found = useMemo(() => {
		const f = filter.toLowerCase()
		return files.filter((x) => x.path.toLowerCase().includes(f))
	}, [files, filter])
	return html`<nav class="patch-names" aria-label="Changed files">
		${
			files.length > 8 &&
			html`<input type="search" class="input" placeholder="Filter files" aria-label="Filter files" value=${filter} onInput=${(e) => setFilter(e.currentTarget.value)} />`
		}
		<ul>
			${found.slice(0, NAMES).map((f) => {
				const cut = f.path.lastIndexOf('/') + 1
				return html`<li key=${f.start}>
					<a href=${`#${encodeURIComponent(f.path)}`} class=${viewed.has(f.path) ? 'seen' : ''} title=${f.path} onClick=${(e) => (e.preventDefault(), onGo(f))}>
						<span class=${`change ${f.status}`} aria-hidden="true"></span>
						<span class="path"><span class="dir">${visible(f.path.slice(0, cut))}</span><span class="base">${visible(f.path.slice(cut))}</span></span>
						<${PatchStat} patch=${f} />
					</a>
				</li>`
			})}
		</ul>
		${found.length > NAMES && html`<p class="fine">${lineCount(found.length - NAMES, 'more file')}: filter to find ${found.length - NAMES === 1 ? 'it' : 'them'}.</p>`}
		${!found.length && html`<p class="fine">No file is called that.</p>`}
	</nav>`
}

/* Two columns, if there is room for them: a choice that this device keeps. */
function useSplit(wide) {
	const [split, set] = useState(() => {
		try {
			return localStorage.getItem('patch-split') === 'yes'
		} catch {
			return false
		}
	})
	const toggle = () => {
		set(!split)
		try {
			localStorage.setItem('patch-split', split ? 'no' : 'yes')
		} catch {
			// then for this page only
		}
	}
	return [wide && split, toggle]
}

const Pressed = ({ on, action, children }) =>
	html`<button type="button" class="chip" aria-pressed=${on ? 'true' : 'false'} onClick=${action}>${children}</button>`

function Head({ patch, index, wrap, onWrap, wide, split, onSplit }) {
	const generated = index.files.filter((f) => f.generated).length
	return html`<div class="pane-bar patch-bar">
		<p class="patch-sum">
			<strong>${lineCount(index.files.length, 'file')} changed</strong> <${PatchStat} patch=${index} />
			${generated > 0 && html`<span class="fine">${generated} generated, folded</span>`}
		</p>
		${wide && html`<${Pressed} on=${split} action=${onSplit}>Side by side<//>`}
		${!split && html`<${Pressed} on=${wrap} action=${onWrap}>Wrap lines<//>`}
		<${ButtonLink} small icon="download" href=${blobUrl(patch.blob)} download="">Download patch<//>
	</div>`
}

function Ready({ patch, state, wide }) {
	const { index, text } = state
	const [room, setRoom] = useState(STEP)
	const [wrap, setWrap] = useState(false)
	const [split, onSplit] = useSplit(wide)
	const [viewed, toggle] = useViewed(state.blob)
	const box = useRef(null)
	const [goal, setGoal] = useState(null)
	const go = (file) => {
		const at = index.files.indexOf(file)
		if (at >= room) setRoom(at + STEP)
		history.replaceState(history.state, '', `${location.search}#${encodeURIComponent(file.path)}`)
		setGoal({ file })
	}
	useEffect(() => {
		const name = decode(route.peek().hash)
		const file = name && index.files.find((f) => f.path === name)
		if (file) go(file)
	}, [])
	useEffect(() => {
		if (!goal) return
		const at = index.files.indexOf(goal.file)
		const e = box.current.querySelector(`[data-file="${at}"]`)
		e?.scrollIntoView({ block: 'start' })
		e?.querySelector('button')?.focus({ preventScroll: true })
	}, [goal])
	return html`<div class=${`patch${split ? ' is-split' : ''}`}>
		<${Head} patch=${patch} index=${index} wrap=${wrap} onWrap=${() => setWrap(!wrap)} wide=${wide} split=${split} onSplit=${onSplit} />
		<div class="patch-body">
			${index.files.length > 1 && html`<${Names} files=${index.files} onGo=${go} viewed=${viewed} />`}
			<div class=${`pane-scroll${wrap || split ? ' wraps' : ''}`} ref=${box} tabindex="0" role="region" aria-label="Patch">
				${index.files.slice(0, room).map(
					(
						f,
						i,
					) => html`<${DiffFile} key=${f.start} text=${text} file=${f} at=${i} box=${box} viewed=${viewed.has(f.path)}
						onViewed=${() => toggle(f.path)} split=${split} open=${goal?.file === f} />`,
				)}
				${
					index.files.length > room &&
					html`<div class="earlier"><${Button} kind="quiet" action=${() => setRoom(room + STEP)}>Show ${Math.min(STEP, index.files.length - room)} more of ${lineCount(index.files.length - room, 'file')}<//></div>`
				}
			</div>
		</div>
	</div>`
}

const decode = (s) => {
	try {
		return decodeURIComponent(s)
	} catch {
		return s
	}
}

function None({ run }) {
	if (run.source === 'none')
		return html`<${EmptyState} icon="patch" title="No tree, no patch">This run was given a task without a repository or an upload, so there is nothing that a patch could be made against.<//>`
	if (isActive(run) || run.state === 'waiting')
		return html`<${EmptyState} icon="patch" title="No changes yet">The patch is made each time a turn ends or stops at a question.<//>`
	return html`<${EmptyState} icon="patch" title="Nothing was changed">The tree is as it was when the run began.<//>`
}

/* The trees of a run that have a patch, as links: which one is shown stands in the address. */
const Trees = ({ run, patches, shown }) => html`<nav class="patch-trees" aria-label="Trees">${patches.map(
	(p) => html`<a key=${p.tree} class="chip" data-replace href=${`${href.run(run.session, 'patch')}?tree=${encodeURIComponent(p.tree)}`}
		aria-current=${p.tree === shown.tree ? 'page' : undefined}><span>${visible(p.tree)}</span> <${PatchStat} patch=${p} /></a>`,
)}</nav>`

/** @param {{f: any, wide: boolean}} p the run in focus; wide: two columns have room */
export function PatchTab({ f, wide }) {
	const { run } = f
	const patches = patchesOf(run)
	if (!patches.length) return html`<div class="pane-scroll"><${None} run=${run} /></div>`
	const asked = route.value.query.get('tree')
	const shown = patches.find((p) => p.tree === asked) ?? patches[0]
	return html`<div class="pane-fill">
		${patches.length > 1 && html`<${Trees} run=${run} patches=${patches} shown=${shown} />`}
		<${Patch} key=${shown.tree} patch=${shown} wide=${wide} />
	</div>`
}

/* Keeps the patch that was opened: a newer one is offered, and never put under one's eyes. */
function Patch({ patch, wide }) {
	const [opened, setOpened] = useState(patch)
	const [state, load] = usePatch(opened.blob, opened.size_bytes)
	const newer = patch.blob !== opened.blob
	return html`<div class="pane-fill">
		${
			newer &&
			html`<${Notice} icon="refresh" action=${html`<${Button} small action=${() => setOpened(patch)}>Show it<//>`}>The files have changed since: there is a newer patch.<//>`
		}
		${state.name === 'loading' && html`<div class="pane-scroll"><${Skeleton} rows=${6} label="Loading the patch" /></div>`}
		${state.name === 'error' && html`<div class="pane-scroll"><${InlineError} error=${state.error} title="The patch could not be loaded" retry=${load} /></div>`}
		${
			state.name === 'large' &&
			html`<div class="pane-scroll"><${EmptyState} icon="patch" title=${`A large patch: ${bytes(opened.size_bytes)}`}
			action=${html`<div class="row-actions"><${Button} action=${load}>Show it anyway<//><${ButtonLink} kind="primary" icon="download" href=${blobUrl(opened.blob)} download="">Download patch<//></div>`}>It takes a while to show this here.<//></div>`
		}
		${state.name === 'ready' && html`<${Ready} key=${state.blob} patch=${opened} state=${state} wide=${wide} />`}
	</div>`
}
