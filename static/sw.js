/*
 * The shell of the page without a network: always from the network first, from the cache where nothing answers in
 * two seconds. Never an answer of the API, never a stream. Each version has a cache of its own.
 */
const VERSION = '@VERSION@'
const SHELL = ['@SHELL@']
const CACHE = `shell-${VERSION}`
const PAGE = '/dashboard/index.html'
const WAIT_MS = 2000

self.addEventListener('install', (e) => {
	e.waitUntil(
		caches
			.open(CACHE)
			.then((c) => c.addAll(SHELL.map((u) => new Request(u, { cache: 'no-cache' }))))
			.then(() => self.skipWaiting()),
	)
})

self.addEventListener('activate', (e) => {
	e.waitUntil(
		caches
			.keys()
			.then((keys) => Promise.all(keys.filter((k) => k.startsWith('shell-') && k !== CACHE).map((k) => caches.delete(k))))
			.then(() => self.clients.claim()),
	)
})

/** The answer, kept for when there is none. */
async function fromNetwork(request, key) {
	const res = await fetch(request)
	if (res.ok && res.type === 'basic') {
		const copy = res.clone()
		caches.open(CACHE).then((c) => c.put(key, copy))
	}
	return res
}

async function answer(request, key) {
	const net = fromNetwork(request, key)
	net.catch(() => {})
	const late = new Promise((resolve) => setTimeout(resolve, WAIT_MS))
	const first = await Promise.race([net.catch(() => null), late])
	if (first) return first
	return (await caches.match(key)) ?? net
}

self.addEventListener('fetch', (e) => {
	const url = new URL(e.request.url)
	if (e.request.method !== 'GET' || url.origin !== self.location.origin) return
	if (e.request.mode === 'navigate' && (url.pathname === '/dashboard' || url.pathname.startsWith('/dashboard/')))
		e.respondWith(answer(e.request, PAGE))
	else if (SHELL.includes(url.pathname)) e.respondWith(answer(e.request, url.pathname))
})
