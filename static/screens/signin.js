/*
 * Sign-in: the operator's token, or a code from a link, exchanged once for a session cookie. The token is never
 * kept here. A code stands in the fragment, which no server sees; it is taken out of the address at once.
 */
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { ApiError, offline, post } from '../lib/api.js'
import { navigate } from '../lib/router.js'
import { session } from '../lib/store.js'
import { plural } from '../lib/text.js'
import { Button, Field, Icon, IconButton, Mark, Notice, useTitle } from '../lib/ui.js'

/** A hint and no secret: whether it is worth asking the server who is there. */
export function wasSignedIn() {
	try {
		return localStorage.getItem('signed-in') === '1'
	} catch {
		return true
	}
}
export function rememberSignedIn(on) {
	try {
		if (on) localStorage.setItem('signed-in', '1')
		else localStorage.removeItem('signed-in')
	} catch {
		// then it is asked each time
	}
}

/** @param {{token: string}|{code: string}} body */
async function signIn(body) {
	const s = await post('/login.json', body, { quiet: true })
	rememberSignedIn(true)
	session.value = { state: 'in', csrf: s.csrf, caller: s.caller ?? { kind: 'session', name: 'operator' } }
}

/** What to say about an error, and in how many seconds one may try again. */
function explain(e) {
	if (!(e instanceof ApiError)) return { text: 'Something went wrong. Try again.' }
	if (e.code === 'offline') return { text: e.message, fix: 'The token was not sent. Try again when the connection is back.' }
	if (e.status === 401) return { text: 'That token is not right.', field: true }
	if (e.status === 429) return { text: 'Too many wrong tokens from this address.', wait: e.retryAfter || 60 }
	return { text: e.message, fix: e.fix }
}

export function SignInForm() {
	const [token, setToken] = useState('')
	const [shown, setShown] = useState(false)
	const [problem, setProblem] = useState(null)
	const [busy, setBusy] = useState(false)
	const [left, setLeft] = useState(0)
	const input = useRef(null)
	useEffect(() => input.current.focus(), [])
	useEffect(() => {
		if (left <= 0) return
		const t = setTimeout(() => setLeft(left - 1), 1000)
		return () => clearTimeout(t)
	}, [left])
	const submit = async (e) => {
		e.preventDefault()
		if (busy) return
		if (!token.trim()) {
			setProblem({ text: 'Paste the operator’s token.', field: true })
			return input.current.focus()
		}
		setBusy(true)
		setProblem(null)
		try {
			await signIn({ token: token.trim() })
			setToken('')
		} catch (err) {
			const p = explain(navigator.onLine ? err : offline())
			setProblem(p)
			setLeft(p.wait ?? 0)
			input.current.focus()
		}
		setBusy(false)
	}
	const field = problem?.field ? problem.text : ''
	return html`<form class="signin-form" onSubmit=${submit} novalidate>
		${
			problem && !problem.field &&
			html`<div role="alert"><${Notice} tone="danger" icon="warn"><p><strong>${problem.text}</strong></p>
				${problem.fix && html`<p>${problem.fix}</p>`}
				${problem.wait && html`<p>${left > 0 ? `You can try again in ${plural(left, 'second')}.` : 'You can try again now.'} The right token is always taken.</p>`}</${Notice}></div>`
		}
		<input type="text" name="username" autocomplete="username" value="operator" class="sr-only" tabindex="-1" aria-hidden="true" readonly />
		<${Field} label="Operator’s token" error=${field} hint="It is exchanged once for a session cookie and not kept in this browser.">${(p) => html`
			<div class="with-button"><input ...${p} ref=${input} class="input mono" type=${shown ? 'text' : 'password'} name="password" autocomplete="current-password"
				autocapitalize="none" spellcheck="false" value=${token} onInput=${(e) => setToken(e.currentTarget.value)} />
			<${IconButton} icon="eye" label=${shown ? 'Hide the token' : 'Show the token'} aria-pressed=${shown ? 'true' : 'false'} action=${() => setShown(!shown)} /></div>`}</${Field}>
		<${Button} type="submit" kind="primary" class="block" busy=${busy} busyText="Signing in…">Sign in</${Button}>
	</form>`
}

/** The code of the address, once; it is gone from the address and the history before anything else happens. */
function takeCode() {
	const code = new URLSearchParams(location.hash.slice(1)).get('code')
	if (code) history.replaceState(history.state, '', location.pathname)
	return code
}

export function SignIn() {
	useTitle('Sign in')
	const [code, setCode] = useState(takeCode)
	const [failed, setFailed] = useState(null)
	const go = async () => {
		setFailed(null)
		try {
			await signIn({ code })
			navigate('/dashboard/runs', { replace: true })
		} catch (e) {
			setFailed(e)
			// a code that was refused is of no use; one that was not sent may be
			if (e.code !== 'offline') setCode(null)
		}
	}
	useEffect(() => {
		if (code) void go()
	}, [])
	return html`<main class="signin" id="main">
		<a class="brand" href="/"><${Mark} size=${28} /><span>Agent Sandbox</span></a>
		<section class="card signin-card" aria-labelledby="signin-title">
			<h1 id="signin-title">Sign in</h1>
			${
				failed &&
				html`<div role="alert"><${Notice} tone="danger" icon="warn"><p><strong>${
					failed.code === 'offline' ? failed.message : 'That sign-in link is used up or too old.'
				}</strong></p><p>${failed.code === 'offline' ? 'The link was not used.' : 'A link works once, for ten minutes. Make another, or use the token.'}</p>
				${failed.code === 'offline' && html`<${Button} small action=${go}>Try again</${Button}>`}</${Notice}></div>`
			}
			${code && !failed ? html`<p class="signing" role="status"><span class="spinner" aria-hidden="true" />Signing in with your link…</p>` : html`<${SignInForm} />`}
		</section>
		<details class="signin-help"><summary><${Icon} name="right" size=${16} />Where do I find the token?</summary>
			<p>It was made when this site was set up. On the machine that runs it, <code>deploy/stack status</code> says which file
			holds it, and <code>deploy/stack signin</code> prints a link that signs a browser in once.</p></details>
	</main>`
}
