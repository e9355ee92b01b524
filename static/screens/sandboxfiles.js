/*
 * What lies in a sandbox: folders and files, read from outside without a process in it. Looking is using: it is done
 * when a person asks for it.
 */
import { html, useState } from '../lib/html.js'
import { blobUrl, get } from '../lib/api.js'
import { plural, visible } from '../lib/text.js'
import { bytes } from '../lib/time.js'
import { Button, Foreign, Icon, InlineError, Skeleton } from '../lib/ui.js'
import { CodeBlock } from '../run/code.js'

const late = () => ({ message: 'The box did not answer in time.', fix: 'It may be busy. Look again in a moment.' })

/** The answer of a look, or an error where it is not there in time. */
async function look(path, query) {
	const answer = await get(path, query)
	if (answer.state !== 'done') throw answer.state === 'failed' ? { message: visible(answer.detail ?? answer.reason ?? 'It could not be read.') } : late()
	return answer
}

const nameOf = (path) => path.slice(path.lastIndexOf('/') + 1)
const KINDS = { dir: 'folder', symlink: 'link' }

/** /workspace/a/b as links to each of its folders. */
function Crumbs({ path, go }) {
	const parts = path.split('/').filter(Boolean)
	return html`<nav class="crumbs" aria-label="Folder">${parts.map(
		(p, i) => html`${i > 0 && html`<span aria-hidden="true">/</span>`}${
			i < parts.length - 1
				? html`<button type="button" class="link" onClick=${() => go(`/${parts.slice(0, i + 1).join('/')}`)}><${Foreign} text=${p} /></button>`
				: html`<strong><${Foreign} text=${p} /></strong>`
		}`,
	)}</nav>`
}

function Content({ sandbox, path }) {
	const [state, setState] = useState({ name: 'new' })
	const load = () =>
		look('/read_file.json', { sandbox_id: sandbox.sandbox_id, path }).then(
			(data) => setState({ name: 'ready', data }),
			(error) => setState({ name: 'error', error }),
		)
	if (state.name === 'new') void load()
	if (state.name === 'error') return html`<${InlineError} error=${state.error} title="The file could not be read" retry=${load} />`
	if (state.name !== 'ready') return html`<${Skeleton} rows=${1} label="Reading the file" />`
	if (state.data.binary) return html`<p class="fine">Not a text. Take the folder to look at it.</p>`
	return html`<${CodeBlock} text=${state.data.content} label=${nameOf(path)} ansi />
		${state.data.next_offset && html`<p class="fine">The first ${bytes(state.data.bytes)} of ${bytes(state.data.size)}.</p>`}`
}

function Entry({ sandbox, entry, path, go }) {
	const [open, setOpen] = useState(false)
	const dir = entry.kind === 'dir'
	const file = entry.kind === 'file'
	const name = nameOf(entry.path)
	return html`<li class="file">
		<div class="file-row">
			<${Icon} name=${dir ? 'folder' : 'file'} size=${18} class="file-icon" />
			<span class="path">${dir ? html`<button type="button" class="link" onClick=${() => go(path)}><${Foreign} text=${name} /></button>` : html`<${Foreign} text=${name} />`}${entry.target && html`<span class="fine"> → <${Foreign} text=${entry.target} /></span>`}</span>
			<span class="file-size">${file ? bytes(entry.size) : (KINDS[entry.kind] ?? 'other')}</span>
			${file && html`<${Button} kind="quiet" small class="get" icon="eye" aria-expanded=${open ? 'true' : 'false'} aria-label=${`${open ? 'Hide' : 'Preview'} ${visible(name)}`} action=${() => setOpen(!open)}>${open ? 'Hide' : 'Preview'}</${Button}>`}
		</div>
		${open && html`<div class="file-preview"><${Content} sandbox=${sandbox} path=${path} /></div>`}
	</li>`
}

/** Downloads a folder as a tar. */
async function take(sandbox, path) {
	const { blob } = await look('/get_files.json', { sandbox_id: sandbox.sandbox_id, path })
	location.assign(blobUrl(blob))
}

function List({ sandbox, state, go }) {
	const { data, path } = state
	const whole = (entry) => (entry.path.startsWith('/') ? entry.path : `${path}/${nameOf(entry.path)}`)
	if (!data.entries.length) return html`<p class="fine">The folder is empty.</p>`
	return html`<ul class="files">${data.entries.map((e) => html`<${Entry} key=${e.path} sandbox=${sandbox} entry=${e} path=${whole(e)} go=${go} />`)}</ul>
		${data.total > data.entries.length && html`<p class="fine">The first ${data.entries.length} of ${plural(data.total, 'entry', 'entries')}.</p>`}`
}

/** @param {{sandbox: any}} p */
export function SandboxFiles({ sandbox }) {
	const [state, setState] = useState({ name: 'closed', path: sandbox.workdir })
	const go = async (path) => {
		setState((was) => ({ ...was, name: was.data ? was.name : 'loading', path: was.data ? was.path : path }))
		try {
			const data = await look('/list_files.json', { sandbox_id: sandbox.sandbox_id, path, limit: 500 })
			setState({ name: 'ready', path, data })
		} catch (error) {
			setState({ name: 'error', path, error })
		}
	}
	const [wrong, setWrong] = useState(null)
	const download = async () => {
		setWrong(null)
		await take(sandbox, state.path).catch(setWrong)
	}
	const ready = state.name === 'ready'
	return html`<section class="part" aria-labelledby="s-files">
		<div class="part-head"><h2 id="s-files">Files</h2>
			${ready && html`<${Button} small icon="refresh" kind="quiet" action=${() => go(state.path)}>Look again</${Button}><${Button} small icon="download" action=${download} busyText="Packing…">Take the folder</${Button}>`}</div>
		${state.name === 'closed' && html`<div class="card look-first"><p>Files are read from outside: nothing is run in the sandbox for it. Looking counts as use.</p>
			<${Button} icon="folder" action=${() => go(state.path)} busyText="Looking…">Look into ${visible(sandbox.workdir)}</${Button}></div>`}
		${state.name === 'loading' && html`<${Skeleton} rows=${3} label="Looking into the sandbox" />`}
		${state.name === 'error' && html`<${InlineError} error=${state.error} title="It could not be looked into" retry=${() => go(state.path)} />`}
		${wrong && html`<${InlineError} error=${wrong} title="The folder could not be packed" retry=${download} />`}
		${ready && html`<${Crumbs} path=${state.path} go=${go} /><${List} sandbox=${sandbox} state=${state} go=${go} />`}
	</section>`
}
