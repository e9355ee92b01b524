/*
 * The files tab: what a run left behind, to look at and to take away. A produced file is shown as text or as a
 * picture of a few known kinds, by its name; nothing of it is ever run or laid out as a page.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { blobUrl, getRaw } from '../lib/api.js'
import { boxIsGone, isActive } from '../lib/store.js'
import { visible as plain } from '../lib/text.js'
import { bytes } from '../lib/time.js'
import { Button, ButtonLink, EmptyState, Icon, InlineError, Notice, Skeleton } from '../lib/ui.js'
import { CodeBlock } from './code.js'
import { lineCount, patchesOf } from './result.js'
import { markdown } from './markdown.js'
import { visible } from './visible.js'

const TEXT_MAX = 256 * 1024
const PICTURE_MAX = 8 * 1024 * 1024
const PICTURES = { png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp' }
const OPAQUE = /\.(zip|gz|xz|zst|bz2|tar|tgz|7z|jar|pdf|bin|exe|so|o|a|wasm|sqlite|db|mp4|mp3|woff2?|ttf)$/i

/** How a file can be shown: "text", "markdown", "picture", or "" for not at all. */
export function previewKind(name, size) {
	const end = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
	if (PICTURES[end]) return size <= PICTURE_MAX ? 'picture' : ''
	if (OPAQUE.test(name) || size > TEXT_MAX) return ''
	return end === 'md' || end === 'markdown' ? 'markdown' : 'text'
}

function Picture({ blob, name }) {
	const [url, setUrl] = useState('')
	useEffect(() => {
		const end = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
		const made = URL.createObjectURL(new Blob([blob], { type: PICTURES[end] }))
		setUrl(made)
		return () => URL.revokeObjectURL(made)
	}, [blob])
	return url && html`<img class="preview-picture" src=${url} alt=${`Picture: ${name}`} decoding="async" />`
}

function Preview({ file, kind }) {
	const [state, setState] = useState({ name: 'loading' })
	const load = async () => {
		try {
			const res = await getRaw('/blob', { name: file.blob })
			setState({ name: 'ready', data: kind === 'picture' ? await res.blob() : await res.text() })
		} catch (error) {
			setState({ name: 'error', error })
		}
	}
	useEffect(() => void load(), [])
	if (state.name === 'loading') return html`<${Skeleton} rows=${2} label="Loading the file" />`
	if (state.name === 'error')
		return html`<${InlineError} error=${state.error} title="The file could not be loaded" retry=${load} />`
	if (kind === 'picture') return html`<${Picture} blob=${state.data} name=${file.name} />`
	if (/\0/.test(state.data.slice(0, 8192))) return html`<p class="fine">Not a text: download it to look at it.</p>`
	if (kind === 'markdown') return html`<div class="prose preview-prose">${markdown(state.data)}</div>`
	return html`<${CodeBlock} text=${state.data} label=${file.name} ansi fold=${200} />`
}

function FileRow({ file }) {
	const [open, setOpen] = useState(false)
	const kind = previewKind(file.name, file.size_bytes)
	const cut = file.name.lastIndexOf('/') + 1
	return html`<li class="file">
		<div class="file-row">
			<${Icon} name="file" size=${18} class="file-icon" />
			<span class="path"><span class="dir">${visible(file.name.slice(0, cut))}</span>${visible(file.name.slice(cut))}</span>
			<span class="file-size">${bytes(file.size_bytes)}</span>
			${
				kind
					? html`<${Button} kind="quiet" small class="get" icon="eye" aria-expanded=${open ? 'true' : 'false'} aria-label=${`${open ? 'Hide' : 'Preview'} ${file.name}`} action=${() => setOpen(!open)}>${open ? 'Hide' : 'Preview'}<//>`
					: html`<span class="file-none">No preview</span>`
			}
			<${ButtonLink} small class="get" icon="download" href=${blobUrl(file.blob)} download="" aria-label=${`Download ${file.name}`}>Download<//>
		</div>
		${open && html`<div class="file-preview"><${Preview} file=${file} kind=${kind} /></div>`}
	</li>`
}

const Saved = ({ icon, name, what, size, blob }) => html`<li class="file">
	<div class="file-row">
		<${Icon} name=${icon} size=${18} class="file-icon" />
		<span class="path"><strong>${name}</strong><span class="file-what">${what}</span></span>
		<span class="file-size">${bytes(size)}</span>
		<${ButtonLink} small class="get" icon="download" href=${blobUrl(blob)} download="" aria-label=${`Download ${name}`}>Download<//>
	</div>
</li>`

const logUrl = (run, kind) => `/log.${kind}?session=${encodeURIComponent(run.session)}`

function Work({ run }) {
	const patches = patchesOf(run)
	const bundles = run.bundles?.length ? run.bundles : run.bundle ? [run.bundle] : []
	// of which tree, where there are several
	const of = (name, all, x) => (all.length > 1 ? `${name} of ${plain(x.tree)}` : name)
	return html`<section class="files-part" aria-labelledby="files-work">
		<h2 id="files-work">Work</h2>
		<ul class="files">
			${patches.map((p) => html`<${Saved} key=${p.blob} icon="patch" name=${of('Patch', patches, p)} what="Everything that was changed, for git apply" size=${p.size_bytes} blob=${p.blob} />`)}
			${bundles.map((b) => html`<${Saved} key=${b.blob} icon="branch" name=${of('Commits', bundles, b)} what="New commits, for git fetch FILE HEAD" size=${b.size_bytes} blob=${b.blob} />`)}
			<li class="file"><div class="file-row">
				<${Icon} name="log" size=${18} class="file-icon" />
				<span class="path"><strong>Log</strong><span class="file-what">Everything that was written, ${run.log_lines === undefined || run.log_lines === null ? '' : lineCount(run.log_lines)}</span></span>
				<span class="file-size">${bytes(run.log_bytes)}</span>
				<span class="file-gets"><${ButtonLink} small icon="download" href=${logUrl(run, 'txt')} download="" aria-label="Download log as .txt">.txt<//>
				<${ButtonLink} small icon="download" href=${logUrl(run, 'ndjson')} download="" aria-label="Download log as .ndjson">.ndjson<//></span>
			</div></li>
		</ul>
		${!patches.length && html`<p class="fine">${run.source === 'none' ? 'There was no tree, so there is no patch.' : isActive(run) ? 'The patch comes when a turn ends.' : 'Nothing was changed in the tree: there is no patch.'}</p>`}
	</section>`
}

/** @param {{f: any}} p the run in focus */
export function FilesTab({ f }) {
	const { run } = f
	const files = run.files ?? []
	return html`<div class="pane-scroll" tabindex="0" role="region" aria-label="Files">
		<div class="column wide">
			${
				boxIsGone(run.box) &&
				html`<${Notice} icon="gone">The box is gone. What is here was kept${files.length || run.patch || run.bundle ? '' : ': the trace and the log'}; anything else that lay in it is lost.<//>`
			}
			<${Work} run=${run} />
			<section class="files-part" aria-labelledby="files-made">
				<h2 id="files-made">Produced files</h2>
				${
					files.length
						? html`<ul class="files">${files.map((x) => html`<${FileRow} key=${x.blob} file=${x} />`)}</ul>`
						: html`<${EmptyState} icon="folder" title=${isActive(run) ? 'No files yet' : 'No files'}>What a run puts into <code>/artifacts</code> is kept at the end of each turn and shows up here.<//>`
				}
			</section>
		</div>
	</div>`
}
