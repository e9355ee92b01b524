/*
 * Requests to the site. Errors are ApiError with the server's code, message and fix; "offline" where nothing
 * answered. A 401 tells the store, which puts the sign-in sheet over the page: whoever asked gets the error all
 * the same and keeps what was typed. Everything that changes something carries the CSRF token and an idempotency
 * key, so that the same click sent twice is done once.
 */
import { session, signedOut } from './store.js'

export class ApiError extends Error {
	/** @param {number} status @param {{code?: string, message?: string, fix?: string, context?: any, request_id?: string}} e */
	constructor(status, e, retryAfter = 0) {
		super(e.message || 'Something went wrong.')
		this.status = status
		this.code = e.code || 'internal'
		this.fix = e.fix || ''
		this.context = e.context || {}
		this.requestId = e.request_id || ''
		this.retryAfter = retryAfter
	}
	/** The field a 422 is about, or "". Its message begins with it. */
	get field() {
		return this.context.field || (this.code === 'invalid' ? (/^([a-z_]+)\b[^:]*:/.exec(this.message) || [])[1] || '' : '')
	}
}

export const offline = () =>
	new ApiError(0, {
		code: 'offline',
		message: navigator.onLine ? 'The server cannot be reached.' : 'You are offline.',
		fix: 'Nothing was sent. Try again when the connection is back.',
	})

/** A key for one intent: make it once, and send it with each try. */
export const newKey = () => crypto.randomUUID()

const url = (path, query) => {
	const q = new URLSearchParams()
	for (const [k, v] of Object.entries(query ?? {})) if (v !== undefined && v !== null && v !== '') q.set(k, String(v))
	const s = q.toString()
	return s ? `${path}?${s}` : path
}

async function failed(res, quiet) {
	let body = {}
	try {
		body = (await res.json()).error ?? {}
	} catch {
		body = { code: res.status === 503 ? 'busy' : 'internal', message: `The server answered ${res.status}.` }
	}
	if (res.status === 401 && !quiet) {
		signedOut()
		// what the server says is for programs
		body = { ...body, message: 'Your session had ended.', fix: 'Sign in again, then try it once more.' }
	}
	return new ApiError(res.status, body, Number(res.headers.get('Retry-After')) || 0)
}

async function send(path, options, quiet) {
	let res
	try {
		res = await fetch(path, { credentials: 'same-origin', cache: 'no-store', redirect: 'error', ...options })
	} catch (e) {
		if (e.name === 'AbortError') throw e
		throw offline()
	}
	const csrf = res.headers.get('X-CSRF-Token')
	if (csrf && csrf !== session.peek().csrf) session.value = { ...session.peek(), csrf }
	if (!res.ok) throw await failed(res, quiet)
	return res
}

/**
 * GET that answers JSON.
 * @param {string} path @param {Record<string, any>} [query] @param {{signal?: AbortSignal, quiet?: boolean}} [o]
 */
export async function get(path, query, o = {}) {
	return (await send(url(path, query), { signal: o.signal }, o.quiet)).json()
}

/** GET of bytes or text, as a Response. @param {string} path @param {Record<string, any>} [query] @param {{signal?: AbortSignal}} [o] */
export const getRaw = (path, query, o = {}) => send(url(path, query), { signal: o.signal })

/**
 * POST of JSON.
 * @param {string} path @param {any} body @param {{key?: string, quiet?: boolean}} [o] key: from newKey, the same for each try; '' where
 * the answer is a secret, which is not kept to be said again
 */
export async function post(path, body, o = {}) {
	const once = () =>
		send(
			path,
			{
				method: 'POST',
				headers: {
					'Content-Type': 'application/json',
					'X-CSRF-Token': session.peek().csrf,
					...(o.key === '' ? {} : { 'Idempotency-Key': o.key ?? newKey() }),
				},
				body: JSON.stringify(body),
			},
			o.quiet,
		)
	try {
		return await (await once()).json()
	} catch (e) {
		// the token in hand was another session's: take the present one, once
		if (e.status !== 403 || e.context?.reason !== 'csrf') throw e
		await get('/session.json')
		return (await once()).json()
	}
}

/**
 * A working tree as tar. XMLHttpRequest, since fetch says nothing of how far it is.
 * @param {Blob} file @param {string} name @param {(done: number, total: number) => void} progress @param {AbortSignal} [abort]
 * @returns {Promise<{upload: string, size_bytes: number, sha256: string}>}
 */
export function upload(file, name, progress, abort) {
	return new Promise((resolve, reject) => {
		const x = new XMLHttpRequest()
		x.open('POST', url('/upload', { name }))
		x.setRequestHeader('Content-Type', 'application/x-tar')
		x.setRequestHeader('X-CSRF-Token', session.peek().csrf)
		x.setRequestHeader('Idempotency-Key', newKey())
		x.responseType = 'text'
		x.upload.onprogress = (e) => progress(e.loaded, e.total)
		x.onerror = () => reject(offline())
		x.onabort = () => reject(new DOMException('aborted', 'AbortError'))
		x.onload = () => {
			let body = {}
			try {
				body = JSON.parse(x.responseText)
			} catch {
				body = { error: { message: `The server answered ${x.status}.` } }
			}
			if (x.status >= 200 && x.status < 300) return resolve(body)
			if (x.status === 401) signedOut()
			reject(new ApiError(x.status, body.error ?? {}, Number(x.getResponseHeader('Retry-After')) || 0))
		}
		abort?.addEventListener('abort', () => x.abort())
		x.send(file)
	})
}

/** Where a blob is downloaded from. @param {string} name */
export const blobUrl = (name) => url('/blob', { name })
