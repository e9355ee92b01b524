/*
 * One file of a patch: its head and, when it is near the window and open, its hunks.
 */
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { bytes } from '../lib/time.js'
import { CopyButton, Icon } from '../lib/ui.js'
import { fileHunks } from './diff.js'
import { splitRows } from './diffsplit.js'
import { markWords } from './diffwords.js'
import { PatchStat } from './result.js'
import { visible } from './visible.js'

/* Longer files are folded at first; lines that are drawn at once; characters of a line. */
const FOLD_LINES = 400
const FOLD_BYTES = 64 * 1024
const LINES = 1000
const LINE = 2000

const WORDS = { added: 'new file', deleted: 'deleted', renamed: 'renamed', copied: 'copied', modified: '' }

/** Why a file is folded; "" for one that is open at first. */
export function foldReason(file) {
	if (file.generated) return file.generated
	if (file.added + file.removed > FOLD_LINES) return `${(file.added + file.removed).toLocaleString('en')} lines`
	return file.end - file.start > FOLD_BYTES ? bytes(file.end - file.start) : ''
}

/* Whether an element has been near the window; then it stays. */
function useNear(ref, box) {
	const [near, setNear] = useState(false)
	useEffect(() => {
		if (near) return
		const seen = new IntersectionObserver((e) => e.some((x) => x.isIntersecting) && setNear(true), {
			root: box.current,
			rootMargin: '600px 0px',
		})
		seen.observe(ref.current)
		return () => seen.disconnect()
	}, [near])
	return near
}

const SAID = { '+': 'added: ', '-': 'removed: ' }
const CLASS = { '+': 'add', '-': 'del', '\\': 'note', ' ': '' }

function Text({ line }) {
	const text = line.text.slice(0, LINE)
	const out = []
	let at = 0
	for (const [from, to] of line.marks ?? []) {
		out.push(visible(text.slice(at, from)), html`<mark>${visible(text.slice(from, to))}</mark>`)
		at = to
	}
	out.push(visible(text.slice(at)))
	if (line.text.length > LINE)
		out.push(html`<span class="fine"> … ${(line.text.length - LINE).toLocaleString('en')} more characters</span>`)
	return out
}

const Row = ({ line }) => html`<div class=${`d-row ${CLASS[line.kind]}`}>
	<span class="d-n" data-n=${line.old || ''}></span><span class="d-n" data-n=${line.now || ''}></span>
	<span class="d-sign" aria-hidden="true">${line.kind === '\\' ? '' : line.kind}</span>
	<span class="d-text">${SAID[line.kind] && html`<span class="sr-only">${SAID[line.kind]}</span>`}<${Text} line=${line} /></span>
</div>`

/* Half of a row: the line as it was, or as it is. */
const Half = ({ line, n }) =>
	line
		? html`<div class=${`d-half ${CLASS[line.kind]}`}>
			<span class="d-n" data-n=${n}></span><span class="d-sign" aria-hidden="true">${line.kind}</span>
			<span class="d-text">${SAID[line.kind] && html`<span class="sr-only">${SAID[line.kind]}</span>`}<${Text} line=${line} /></span>
		</div>`
		: html`<div class="d-half none"></div>`

const PairRow = ({ pair }) =>
	pair.note
		? html`<${Row} line=${pair.note} />`
		: html`<div class="d-pair"><${Half} line=${pair.left} n=${pair.left?.old} /><${Half} line=${pair.right} n=${pair.right?.now} /></div>`

function Hunks({ text, file, split }) {
	const [room, setRoom] = useState(LINES)
	const hunks = useMemo(() => fileHunks(text, file), [file])
	let left = room
	const shown = []
	for (const hunk of hunks) {
		if (left <= 0) break
		const part = { ...hunk, lines: hunk.lines.slice(0, left) }
		left -= part.lines.length
		shown.push(markWords(part))
	}
	const all = hunks.reduce((n, h) => n + h.lines.length, 0)
	return html`<div class="d-scroll" tabindex="0" role="group" aria-label=${`Changes in ${file.path}`}>
		<div class=${`d-lines${split ? ' split' : ''}`}>
			${shown.map(
				(h) => html`<div class="d-hunk" key=${`${h.old} ${h.now}`}>
					<div class="d-row hunk"><span class="d-text">@@ −${h.old},${h.oldCount} +${h.now},${h.nowCount} @@ ${visible(h.section)}</span></div>
					${
						split
							? splitRows(h.lines).map((pair, i) => html`<${PairRow} key=${i} pair=${pair} />`)
							: h.lines.map((line, i) => html`<${Row} key=${i} line=${line} />`)
					}
				</div>`,
			)}
		</div>
		${
			all > room &&
			html`<button type="button" class="code-more" onClick=${() => setRoom(room + 4 * LINES)}>Show more: ${(all - room).toLocaleString('en')} lines are left</button>`
		}
	</div>`
}

function Body({ text, file, open, why, onOpen, near, split }) {
	if (file.binary) return html`<p class="d-note">A binary file: it is in the patch, and cannot be shown here.</p>`
	if (!file.added && !file.removed)
		return html`<p class="d-note">${file.status === 'renamed' ? 'Renamed without changes.' : file.oldMode && file.newMode ? 'Only its mode changed.' : 'An empty file.'}</p>`
	if (!open)
		return html`<p class="d-note">${why}: not shown. <button type="button" class="link" onClick=${onOpen}>Show it (${bytes(file.end - file.start)})</button></p>`
	const lines = Math.min(file.added + file.removed + 12, LINES)
	return near ? html`<${Hunks} text=${text} file=${file} split=${split} />` : html`<${Room} lines=${lines} />`
}

/* Holds the place of what is not drawn yet, so that the page does not jump. */
function Room({ lines }) {
	const ref = useRef(null)
	useEffect(() => void (ref.current.style.height = `${lines * 20}px`), [lines])
	return html`<div class="d-room" ref=${ref}></div>`
}

const octal = (mode) => mode.slice(-3)

/**
 * @param {{text: string, file: import('./diff.js').PatchFile, at: number, box: any, viewed: boolean, onViewed: () => void, open: boolean, split: boolean}} p
 *   open: it was asked for by name; split: in two columns
 */
export function DiffFile({ text, file, at, box, viewed, onViewed, open: asked, split }) {
	const why = foldReason(file)
	const [shut, setShut] = useState(viewed)
	const [forced, setForced] = useState(false)
	const ref = useRef(null)
	const near = useNear(ref, box)
	useEffect(() => {
		if (asked) setShut(false)
	}, [asked])
	const tick = () => {
		setShut(!viewed)
		onViewed()
	}
	const cut = file.path.lastIndexOf('/') + 1
	return html`<section class=${`d-file${viewed ? ' seen' : ''}`} ref=${ref} data-file=${at} aria-label=${file.path}>
		<header class="d-head">
			<button type="button" class="d-toggle" aria-expanded=${shut ? 'false' : 'true'} onClick=${() => setShut(!shut)}>
				<${Icon} name=${shut ? 'right' : 'down'} size=${16} />
				<span class="path">${file.status === 'renamed' || file.status === 'copied' ? html`<span class="dir">${visible(file.from)} → </span>` : ''}<span class="dir">${visible(file.path.slice(0, cut))}</span>${visible(file.path.slice(cut))}</span>
			</button>
			${WORDS[file.status] && html`<span class=${`d-word ${file.status}`}>${WORDS[file.status]}</span>`}
			${file.oldMode && file.newMode && html`<span class="d-word">mode ${octal(file.oldMode)} → ${octal(file.newMode)}</span>`}
			${file.binary ? html`<span class="d-word">binary</span>` : html`<${PatchStat} patch=${file} />`}
			<${CopyButton} text=${file.path} label="Copy path" iconOnly />
			<label class="d-viewed"><input type="checkbox" checked=${viewed} onChange=${tick} /> Viewed</label>
		</header>
		${!shut && html`<${Body} text=${text} file=${file} near=${near} why=${why} split=${split} open=${!why || forced} onOpen=${() => setForced(true)} />`}
	</section>`
}
