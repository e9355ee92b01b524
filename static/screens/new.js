/*
 * A new run: task, agent, tree, machine. What is typed is kept as a draft until the run is started. Everything that
 * is wrong is said next to its field, ours and the server's alike; nothing that was typed is lost by an error.
 */
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get, newKey, post, upload } from '../lib/api.js'
import { draftDrop, draftGet, draftSet } from '../lib/draft.js'
import { connection } from '../lib/events.js'
import { href, navigate, route } from '../lib/router.js'
import { applyRun, site } from '../lib/store.js'
import { CLASSES } from '../lib/strings.js'
import { binary } from '../lib/time.js'
import { Button, Field, Icon, IconButton, InlineError, TextArea, toast, useTitle } from '../lib/ui.js'
import { emptyForm, fieldOf, formBody, formDraft, formErrors, formFromDraft, formFromRun } from './newform.js'
import { STARTERS } from './starters.js'
import { TreeDrop, tarOf } from './tree.js'

const DRAFT = 'new'
const MAX_REPOS = 8
const MOD = /^(Mac|iP)/.test(navigator.platform) ? '⌘' : 'Ctrl'
const DEFAULT_AGENTS = [{ name: 'script', title: 'Shell script', ready: true }]
const ABOUT = {
	script: 'Runs what you write with bash, in the working tree.',
	claude: 'Reads the tree, edits, runs commands, asks when it must.',
}

/** One choice of several, drawn as cards. items {value, label, what, off} */
const Choices = ({ legend, name, value, items, onChange, error }) => html`<fieldset class="choices" id=${`f-${name}`}>
	<legend>${legend}</legend>
	<div class="choice-row">${items.map(
		(i) => html`<label key=${i.value} class="choice"><input type="radio" name=${name} value=${i.value} checked=${value === i.value} onChange=${() => onChange(i.value)} />
			<strong>${i.label}</strong>${i.what && html`<small>${i.what}</small>`}</label>`,
	)}</div>
	${error && html`<p class="field-error"><${Icon} name="warn" size=${16} /><span>${error}</span></p>`}
</fieldset>`

function Repos({ form, set, errors }) {
	const change = (i, k, v) => set({ repos: form.repos.map((r, j) => (j === i ? { ...r, [k]: v } : r)) })
	const hosts = site.value?.git_hosts ?? []
	return html`<div class="fold-body" id="f-repos">
		${form.repos.map(
			(r, i) => html`<div class="repo-row" key=${i}>
				<${Field} label=${form.repos.length > 1 ? `Repository ${i + 1}` : 'Repository'} error=${errors[`repo${i}`]}
					hint=${i === 0 && hosts.length ? `owner/name, or an address at ${hosts.join(', ')}` : undefined}>${(p) => html`<input ...${p} class="input mono" data-field=${`repo${i}`} value=${r.repo}
					placeholder="owner/name" autocapitalize="none" autocomplete="off" spellcheck="false" onInput=${(e) => change(i, 'repo', e.currentTarget.value)} />`}</${Field}>
				<${Field} label="Branch, tag or commit" optional hint=${i === 0 ? 'The default branch where empty' : undefined}>${(p) => html`<input ...${p} class="input mono" value=${r.ref} autocapitalize="none" autocomplete="off" spellcheck="false"
					onInput=${(e) => change(i, 'ref', e.currentTarget.value)} />`}</${Field}>
				${form.repos.length > 1 && html`<${IconButton} icon="close" label=${`Remove repository ${i + 1}`} action=${() => set({ repos: form.repos.filter((_, j) => j !== i) })} />`}
			</div>`,
		)}
		${form.repos.length < MAX_REPOS && html`<div><${Button} kind="quiet" small icon="plus" action=${() => set({ repos: [...form.repos, { repo: '', ref: '' }] })}>Another repository</${Button}></div>`}
	</div>`
}

const sizeWords = (c) => `${binary(c.memory_mb * 1048576)}, ${c.cpus} CPU${c.cpus === 1 ? '' : 's'}`

/** The size that a run without a choice gets. */
const defaultClass = (s) => s?.classes?.find((c) => c.memory_mb >= (s.defaults?.memory_mb ?? 0) && c.cpus >= (s.defaults?.cpus ?? 0))

function Machine({ form, set, errors }) {
	const s = site.value
	const agentImage = s?.agents?.find((a) => a.name === (form.agent || s.defaults?.agent))?.image
	const image = form.image || agentImage || s?.defaults?.image
	const cls = s?.classes?.find((c) => c.name === form.size) ?? defaultClass(s)
	const bad = errors.image || errors.size || errors.title
	const [open, setOpen] = useState(false)
	return html`<details class="fold" open=${open || !!bad} onToggle=${(e) => setOpen(e.currentTarget.open)}><summary><${Icon} name="right" size=${16} /><span>Machine and title</span>
		<span class="fold-now">${[image, cls && sizeWords(cls)].filter(Boolean).join(' · ')}</span></summary>
		<div class="fold-body">
			${
				s?.classes &&
				html`<${Choices} legend="Size" name="size" value=${cls?.name} error=${errors.size} onChange=${(size) => set({ size })}
					items=${s.classes.map((c) => ({ value: c.name, label: CLASSES[c.name] ?? c.name, what: `${sizeWords(c)}, ${binary(c.disk_mb * 1048576)} disk` }))} />`
			}
			${
				s?.images?.length > 0 &&
				html`<${Field} label="Image" error=${errors.image} hint="What the machine boots from.">${(p) => html`<select ...${p} class="input" data-field="image" value=${form.image}
					onChange=${(e) => set({ image: e.currentTarget.value })}><option value="" selected=${!form.image}>${agentImage ? `${agentImage} (the agent’s)` : `${s.defaults?.image} (the site’s)`}</option>
					${s.images.map((i) => html`<option key=${i.name} value=${i.name} selected=${form.image === i.name}>${i.name}</option>`)}</select>`}</${Field}>`
			}
			<${Field} label="Title" optional error=${errors.title} hint="One line for lists. Made of the task where it is empty.">${(p) => html`<input ...${p} class="input" data-field="title" maxlength="200" value=${form.title}
				onInput=${(e) => set({ title: e.currentTarget.value })} />`}</${Field}>
		</div></details>`
}

/** What the address asks for: ?from=RUN, ?starter=ID, ?task=&repo=&ref=. */
async function prefill(query) {
	const starter = STARTERS.find((s) => s.id === query.get('starter'))
	if (starter) return { ...emptyForm(), task: starter.task, title: starter.title, agent: starter.agent }
	if (query.get('from')) return formFromRun(await get('/watch.json', { session: query.get('from') }))
	if (query.get('task') === null && query.get('repo') === null) return null
	const form = { ...emptyForm(), task: query.get('task') ?? '' }
	if (query.get('repo')) Object.assign(form, { tree: 'repos', repos: [{ repo: query.get('repo'), ref: query.get('ref') ?? '' }] })
	return form
}

export function NewScreen() {
	useTitle('New run')
	const [form, setForm] = useState(() => formFromDraft(draftGet(DRAFT)))
	const [file, setFile] = useState(null)
	const [errors, setErrors] = useState({})
	const [failure, setFailure] = useState(null)
	const [busy, setBusy] = useState('')
	const [progress, setProgress] = useState(null)
	const task = useRef(null)
	const intent = useRef({ body: '', key: '' })
	const sent = useRef({ file: null, upload: null })
	const form0 = useRef(form)
	form0.current = form
	const set = (change) => {
		const next = { ...form0.current, ...change }
		form0.current = next
		setForm(next)
		draftSet(DRAFT, formDraft(next))
		if (Object.keys(errors).length) setErrors(Object.fromEntries(Object.entries(errors).filter(([k]) => !(k in change) && !(k.startsWith('repo') && 'repos' in change))))
	}
	const replace = (next) => {
		const before = form0.current
		set(next)
		if (before.task.trim() && before.task !== next.task) toast('Your draft was replaced.', { action: { label: 'Undo', run: () => set(before) }, ms: 10000 })
		task.current?.focus()
	}
	useEffect(() => {
		// where there is a keyboard already; elsewhere one would jump up
		if (!matchMedia('(pointer: coarse)').matches) task.current.focus({ preventScroll: true })
		prefill(route.peek().query).then(
			(f) => {
				if (!f) return
				replace(f)
				navigate(href.new(), { replace: true })
			},
			(e) => setFailure(e),
		)
	}, [])
	const take = (f) => {
		setFile(f)
		setErrors({ ...errors, upload: undefined })
	}
	const complain = (found) => {
		setErrors(found)
		const first = document.querySelector(`[data-field="${Object.keys(found)[0]}"]`) ?? document.getElementById(`f-${Object.keys(found)[0]}`)?.querySelector('input')
		first?.focus()
	}
	const start = async () => {
		if (busy) return
		setFailure(null)
		const found = formErrors(form, file, site.value)
		if (Object.keys(found).length) return complain(found)
		try {
			let id = null
			if (form.tree === 'upload') {
				setBusy('Sending the tree…')
				if (sent.current.file !== file) {
					const up = await upload(await tarOf(file), file.name, (done, total) => setProgress({ done, total }))
					sent.current = { file, upload: up.upload }
				}
				id = sent.current.upload
			}
			setBusy('Starting…')
			const body = formBody(form, id, site.value)
			const text = JSON.stringify(body)
			// the same again after a lost answer is the same run, not a second one
			if (intent.current.body !== text) intent.current = { body: text, key: newKey() }
			const run = await post('/delegate.json', body, { key: intent.current.key })
			draftDrop(DRAFT)
			applyRun(run)
			navigate(href.run(run.session), { replace: true })
		} catch (e) {
			setBusy('')
			setProgress(null)
			const field = fieldOf(e.field ?? '')
			if (e.status === 422 && field) return complain({ [field]: [e.message.replace(/^[a-z_[\].0-9]+: /, ''), e.fix].filter(Boolean).join('. ') })
			setFailure(e)
		}
	}
	const agents = site.value?.agents ?? DEFAULT_AGENTS
	const agent = form.agent || site.value?.defaults?.agent || 'script'
	const script = agent === 'script'
	const offline = connection.value.state === 'offline'
	return html`<main class="page compose" id="main" tabindex="-1">
		<header class="page-head"><h1>New run</h1></header>
		<form novalidate onSubmit=${(e) => {
			e.preventDefault()
			void start()
		}}>
			<${Field} label="What is to be done?" class="task" error=${errors.task}
				hint=${script ? html`A shell script. <code>asb-ask "…"</code> stops it and asks you; what it puts into <code>/artifacts</code> is kept.` : 'In plain words. The more it knows of what done means, the better.'}>${(p) => html`
				<${TextArea} ...${p} inputRef=${task} class=${`input ${script ? 'mono' : ''}`} data-field="task" value=${form.task} onInput=${(v) => set({ task: v })} onSubmit=${start}
					placeholder=${script ? 'make test' : 'Fix the flaky retry test in packages/queue'} spellcheck=${script ? 'false' : 'true'} enterkeyhint="enter" />`}</${Field}>
			${
				!form.task &&
				html`<div class="starters"><h2>Start with one of these</h2>${STARTERS.map(
					(s) => html`<button type="button" key=${s.id} class="starter" onClick=${() => replace({ ...emptyForm(), task: s.task, title: s.title, agent: s.agent })}><strong>${s.title}</strong><span>${s.what}</span></button>`,
				)}</div>`
			}
			<${Choices} legend="Agent" name="agent" value=${agent} error=${errors.agent} onChange=${(v) => set({ agent: v, image: '' })}
				items=${agents.map((a) => ({ value: a.name, label: a.title ?? a.name, what: a.ready ? ABOUT[a.name] : a.why }))} />
			<${Choices} legend="Working tree" name="tree" value=${form.tree} onChange=${(tree) => set({ tree })} items=${[
				{ value: 'none', label: 'None', what: 'An empty /workspace, or a repository that the task names with its host.' },
				{ value: 'repos', label: 'Repositories', what: 'Cloned from a git host, each into a folder of /workspace.' },
				{ value: 'upload', label: 'Upload', what: 'A tar of your tree, uncommitted work and all, as /workspace/tree.' },
			]} />
			${form.tree === 'repos' && html`<div class="fold"><${Repos} form=${form} set=${set} errors=${errors} /></div>`}
			${form.tree === 'upload' && html`<${TreeDrop} file=${file} onFile=${take} error=${errors.upload} progress=${progress} max=${site.value?.limits?.upload_bytes} />`}
			<${Machine} form=${form} set=${set} errors=${errors} />
			${failure && html`<${InlineError} title="The run was not started" error=${failure}><p>What you wrote is kept on this device.</p></${InlineError}>`}
			<div class="compose-foot">
				<p class="fine">${offline ? html`<strong>You’re offline.</strong> Nothing will be sent; your draft is kept.` : html`<span class="keys-hint"><kbd>${MOD}</kbd> <kbd>Enter</kbd> starts it</span>`}</p>
				<${Button} type="submit" kind="primary" icon="arrow" busy=${!!busy} busyText=${progress && busy.startsWith('Sending') ? `${busy} ${Math.floor((100 * progress.done) / (progress.total || 1))} %` : busy}>Start run</${Button}>
			</div>
		</form>
	</main>`
}
