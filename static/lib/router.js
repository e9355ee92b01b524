/*
 * Addresses. /dashboard/* is one page: links inside it are taken over here, everything else is the browser's.
 * Screens push history, tabs of a run replace (a click on a link with data-replace). Going back finds the list
 * where it was left.
 */
import { signal } from '../vendor/signals-core.js'

const TABS = ['log', 'patch', 'files', 'details']

/**
 * @param {string} path @param {string} [search] @param {string} [hash]
 * @returns {{name: string, params: Record<string, string>, query: URLSearchParams, hash: string, path: string}}
 */
export function parseRoute(path, search = '', hash = '') {
	const parts = path.replace(/\/+$/, '').split('/').slice(2).map(decode)
	const route = (name, params = {}) => ({ name, params, query: new URLSearchParams(search), hash: hash.replace(/^#/, ''), path })
	if (parts.length === 0) return route('runs')
	const [first, second, third] = parts
	if (parts.length === 1 && ['signin', 'runs', 'new', 'machines', 'keys', 'connect', 'help'].includes(first)) return route(first)
	if (first === 'runs' && /^run-[a-z0-9]{16}$/.test(second) && (parts.length === 2 || (parts.length === 3 && TABS.includes(third))))
		return route('run', { session: second, tab: third ?? 'trace' })
	if (first === 'machines' && parts.length === 2 && /^box-[a-z0-9]{16}$/.test(second)) return route('sandbox', { sandbox: second })
	return route('missing')
}
const decode = (s) => {
	try {
		return decodeURIComponent(s)
	} catch {
		return s
	}
}

export const href = {
	signin: () => '/dashboard/signin',
	runs: () => '/dashboard/runs',
	new: () => '/dashboard/new',
	machines: () => '/dashboard/machines',
	/** @param {string} name */
	sandbox: (name) => `/dashboard/machines/${name}`,
	keys: () => '/dashboard/keys',
	help: () => '/dashboard/help',
	/** @param {string} session @param {string} [tab] @param {string} [hash] */
	run: (session, tab, hash) =>
		`/dashboard/runs/${session}${tab && tab !== 'trace' ? `/${tab}` : ''}${hash ? `#${hash}` : ''}`,
}

const here = () => parseRoute(location.pathname, location.search, location.hash)
export const route = signal(typeof location === 'undefined' ? parseRoute('/dashboard') : here())

/** Where each place was scrolled to, by the key of its history entry. */
const scrolls = new Map()
let key = '0'
let keys = 0

const remember = () => scrolls.set(key, window.scrollY)

/** @param {string} to @param {{replace?: boolean, keepScroll?: boolean}} [o] */
export function navigate(to, o = {}) {
	remember()
	if (o.replace) history.replaceState({ key }, '', to)
	else {
		key = `${Date.now()}.${++keys}`
		history.pushState({ key }, '', to)
	}
	route.value = here()
	if (!o.replace && !o.keepScroll) window.scrollTo(0, 0)
}

/** Back to where one came from, or to `fallback` where this page was opened directly. @param {string} fallback */
export const back = (fallback) => (keys > 0 ? history.back() : navigate(fallback))

/** Takes over links and the history. Called once. */
export function routerStart() {
	history.scrollRestoration = 'manual'
	key = history.state?.key ?? '0'
	history.replaceState({ key }, '')
	addEventListener('popstate', () => {
		remember()
		key = history.state?.key ?? '0'
		route.value = here()
		const y = scrolls.get(key) ?? 0
		// once for what is there at once, and again when a lazy screen has come
		requestAnimationFrame(() => scrollTo(0, y))
		setTimeout(() => key === (history.state?.key ?? '0') && scrollY < y && scrollTo(0, y), 120)
	})
	addEventListener('hashchange', () => {
		route.value = here()
	})
	document.addEventListener('click', (e) => {
		if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
		const a = e.target.closest?.('a[href]')
		if (!a || a.target || a.hasAttribute('download') || a.origin !== location.origin) return
		if (a.pathname !== '/dashboard' && !a.pathname.startsWith('/dashboard/')) return
		// a place on this very page is the browser's business, and hashchange tells of it
		if (a.pathname === location.pathname && a.search === location.search && a.hash) return
		e.preventDefault()
		navigate(a.pathname + a.search + a.hash, { replace: a.hasAttribute('data-replace') })
	})
}
