/*
 * The page under /dashboard: finds out who is signed in, shows the screen of the address, keeps the stream going.
 * Screens other than sign-in are fetched when they are first needed.
 */
import { html, render, signal, useEffect, useRef, useState } from './lib/html.js'
import { get } from './lib/api.js'
import { eventsStart, fleetEarly, setFocus } from './lib/events.js'
import { navigate, route, routerStart } from './lib/router.js'
import { Frame } from './lib/shell.js'
import { session, site } from './lib/store.js'
import { InlineError, Skeleton } from './lib/ui.js'
import { SignIn, wasSignedIn } from './screens/signin.js'

/** Style sheets that only some screens want, beside those of the page; each is there before its screen is. */
const styles = new Map()
function style(href) {
	if (!styles.has(href))
		styles.set(
			href,
			new Promise((done, fail) => {
				const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href, onload: done })
				link.onerror = (e) => {
					styles.delete(href)
					link.remove()
					fail(e)
				}
				document.head.append(link)
			}),
		)
	return styles.get(href)
}

const load = {
	runs: () => import('./screens/runs.js').then((m) => m.RunsScreen),
	new: () => Promise.all([import('./screens/new.js'), style('/screens/new.css')]).then(([m]) => m.NewScreen),
	machines: () => import('./screens/machines.js').then((m) => m.MachinesScreen),
	sandbox: () => Promise.all([import('./screens/sandboxpage.js'), style('/run/run.css'), style('/screens/sandbox.css')]).then(([m]) => m.SandboxPage),
	keys: () => Promise.all([import('./screens/keys.js'), style('/run/run.css')]).then(([m]) => m.KeysScreen),
	connect: () => import('./screens/connect.js').then((m) => m.ConnectScreen),
	help: () => import('./screens/help.js').then((m) => m.HelpScreen),
	missing: () => import('./screens/help.js').then((m) => m.MissingScreen),
	run: () => Promise.all([import('./run/page.js'), style('/run/run.css')]).then(([m]) => m.RunPage),
}
/** What has been fetched, by name: {screen} or {error}. */
const screens = signal({})

async function fetchScreen(name) {
	if (screens.peek()[name]?.screen) return
	try {
		const screen = await load[name]()
		if (screens.peek()[name]?.screen !== screen) screens.value = { ...screens.peek(), [name]: { screen } }
	} catch (error) {
		screens.value = { ...screens.peek(), [name]: { error } }
	}
}

function Screen() {
	const r = route.value
	const got = screens.value[r.name]
	useEffect(() => void fetchScreen(r.name), [r.name])
	// who came by a link of the rail or the bar begins at the new screen, not at the link
	const first = useRef(true)
	useEffect(() => {
		if (first.current) first.current = !got
		else if (document.activeElement === document.body || document.activeElement?.closest('.rail, .bottom-bar, .top-bar'))
			document.getElementById('main')?.focus({ preventScroll: true })
	}, [r.name, r.params.session, r.params.sandbox, !got])
	if (got?.error)
		return html`<main class="page" id="main" tabindex="-1"><h1 class="sr-only">Not loaded</h1>
			<${InlineError} title="This screen could not be loaded" error=${{ message: 'The server cannot be reached.' }} retry=${() => fetchScreen(r.name)} /></main>`
	if (!got) return html`<main class="page" id="main" tabindex="-1"><${Skeleton} /></main>`
	// a run's page is another page for another run; its tabs are one page
	return html`<${got.screen} key=${r.params.session ?? r.params.sandbox ?? r.name} ...${r.params} />`
}

/** Who is there. Where nothing answers, what to say about it. */
async function whoIsThere() {
	if (session.peek().state === 'out') return null
	if (route.peek().name !== 'signin') fleetEarly()
	try {
		const s = await get('/session.json', {}, { quiet: true })
		session.value = { state: 'in', csrf: s.csrf, caller: s.caller }
		return null
	} catch (e) {
		if (e.status === 401) {
			session.value = { state: 'out', csrf: '', caller: null }
			return null
		}
		return e
	}
}

function App() {
	const [error, setError] = useState(null)
	const ask = async (asked = whoIsThere()) => setError(await asked)
	useEffect(() => void ask(first), [])
	const state = session.value.state
	const [entered, setEntered] = useState(false)
	useEffect(() => {
		if (state !== 'in') return
		setEntered(true)
		eventsStart()
		get('/site.json').then(
			(s) => (site.value = s),
			() => {},
		)
		if (route.peek().name === 'signin' && !location.hash) navigate('/dashboard/runs', { replace: true })
	}, [state])
	const signin = route.value.name === 'signin'
	if (state === 'unknown' && !entered)
		return error
			? html`<main class="page narrow" id="main"><h1 class="sr-only">Agent Sandbox</h1><${InlineError} title="Agent Sandbox cannot be reached" error=${error} retry=${() => ask()} /></main>`
			: html`<main class="page narrow boot" id="main"><p class="brand">Agent Sandbox</p><${Skeleton} rows=${3} /></main>`
	if (signin || (state === 'out' && !entered)) return html`<${SignIn} />`
	return html`<${Frame}><${Screen} /></${Frame}>`
}

routerStart()
// the sign-in page asks only where somebody has signed in before: a 401 there says nothing to anybody
if (route.peek().name === 'signin' && !wasSignedIn()) session.value = { state: 'out', csrf: '', caller: null }
// what is needed is on its way before anything is drawn; and that is done when the browser has had its turn, since
// what has been read is one long task and what is drawn another
const first = whoIsThere()
if (route.peek().name !== 'signin') void fetchScreen(route.peek().name)
if (route.peek().name === 'run') void setFocus(route.peek().params.session)
setTimeout(() => render(html`<${App} />`, document.getElementById('app')))

if ('serviceWorker' in navigator && window.isSecureContext) {
	// the one place where a string becomes a script's address, and it takes this address only
	const policy = window.trustedTypes?.createPolicy('sw', {
		createScriptURL: (s) => {
			if (s === '/sw.js') return s
			throw new TypeError('not our service worker')
		},
	})
	addEventListener('load', () => {
		navigator.serviceWorker.register(policy ? policy.createScriptURL('/sw.js') : '/sw.js').catch(() => {})
	})
}
