/* A new run as a form: what is in it, what is wrong with it, what is sent. Pure, so that it is tested without a page. */

/** agent, image and size "" mean the site's own. tree: none, repos, upload. */
export const emptyForm = () => ({ task: '', title: '', agent: '', tree: 'none', repos: [{ repo: '', ref: '' }], dir: '', image: '', size: '' })

/** What is kept as the draft: everything but the file. @param {any} form */
export const formDraft = (form) => JSON.stringify(form)

/** @param {string} text a draft, or "" @returns {any} */
export function formFromDraft(text) {
	const empty = emptyForm()
	let old
	try {
		old = JSON.parse(text)
	} catch {
		return empty
	}
	if (!old || typeof old !== 'object') return empty
	for (const k of Object.keys(empty)) if (k !== 'repos' && typeof old[k] === 'string') empty[k] = old[k]
	if (Array.isArray(old.repos) && old.repos.length)
		empty.repos = old.repos.slice(0, 8).map((r) => ({ repo: String(r?.repo ?? ''), ref: String(r?.ref ?? '') }))
	return empty
}

/** A run that is done again. @param {any} run as /watch.json gives it */
export function formFromRun(run) {
	const form = { ...emptyForm(), task: run.turns?.[0]?.message ?? run.task ?? '', title: run.title ?? '', agent: run.agent ?? '' }
	if (run.repos?.length) {
		form.tree = 'repos'
		form.repos = run.repos.map((r) => ({ repo: r.repo ?? '', ref: r.ref ?? '' }))
	}
	form.image = run.box?.image ?? ''
	form.size = run.box?.class ?? ''
	return form
}

const REPO = /^([a-z0-9.-]+\/)?[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/
/** An address as people copy it, as the name that the site takes: "host/owner/name" or "owner/name". @param {string} text */
export function repoName(text) {
	return text
		.trim()
		.replace(/^(https?:\/\/|ssh:\/\/)([^@/]*@)?/, '')
		.replace(/^git@([^:]+):/, '$1/')
		.replace(/\/+$/, '')
		.replace(/\.git$/, '')
}

const size = (n) => (n >= 1048576 ? `${Math.round(n / 1048576)} MiB` : `${Math.round(n / 1024)} KiB`)

/**
 * What is wrong, by field; {} where nothing is. @param {any} form @param {{size: number, name: string}|null} file
 * @param {any} site @returns {Record<string, string>}
 */
export function formErrors(form, file, site) {
	const errors = {}
	const limits = site?.limits ?? {}
	if (!form.task.trim()) errors.task = 'Say what is to be done.'
	else if (limits.task_bytes && new TextEncoder().encode(form.task).length > limits.task_bytes)
		errors.task = `The task is longer than ${size(limits.task_bytes)}. Put long material into the tree.`
	const agent = site?.agents?.find((a) => a.name === (form.agent || site.defaults?.agent))
	if (agent && !agent.ready) errors.agent = agent.why || 'This agent is not set up here.'
	if (form.tree === 'repos')
		form.repos.forEach((r, i) => {
			if (!repoName(r.repo)) errors[`repo${i}`] = 'Name a repository, as owner/name.'
			else if (!REPO.test(repoName(r.repo))) errors[`repo${i}`] = 'A repository is owner/name, or host/owner/name.'
		})
	if (form.tree === 'upload') {
		if (!file) errors.upload = 'Choose a tar file, or take another source.'
		else if (!/\.(tar|tar\.gz|tgz)$/i.test(file.name)) errors.upload = 'Only .tar, .tar.gz and .tgz can be taken.'
		else if (limits.upload_bytes && file.size > limits.upload_bytes) errors.upload = `The file is larger than ${size(limits.upload_bytes)}.`
	}
	return errors
}

/** The body for /delegate.json. @param {any} form @param {string|null} upload @param {any} site */
export function formBody(form, upload, site) {
	const body = { task: form.task }
	if (form.title.trim()) body.title = form.title.trim()
	if (form.agent) body.agent = form.agent
	if (form.image) body.image = form.image
	const cls = site?.classes?.find((c) => c.name === form.size)
	if (cls) Object.assign(body, { memory_mb: cls.memory_mb, cpus: cls.cpus })
	if (form.tree === 'repos') body.repos = form.repos.map((r) => ({ repo: repoName(r.repo), ...(r.ref.trim() ? { ref: r.ref.trim() } : {}) }))
	if (form.tree === 'upload' && upload) {
		body.upload = upload
		if (form.dir.trim()) body.dir = form.dir.trim()
	}
	return body
}

/** Which field of the form the server's word is about. @param {string} name as ApiError.field says it */
export function fieldOf(name) {
	const m = /^repos\[(\d+)\]/.exec(name)
	if (m) return `repo${m[1]}`
	return { task: 'task', agent: 'agent', repos: 'repo0', upload: 'upload', dir: 'upload', image: 'image', memory_mb: 'size', cpus: 'size', title: 'title' }[name] ?? ''
}
