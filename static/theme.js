/*
 * What cannot wait for the modules; not one itself. Light or dark, before the first paint, so that nothing flashes: what
 * was chosen on this device wins over the system's wish, which is followed when it changes. A page that lets people
 * choose says so by an event "theme" of the document, with "light", "dark" or "auto" as its detail. And the screen of
 * the address is asked for beside app.js, not after it.
 */
'use strict'
{
	const system = matchMedia('(prefers-color-scheme: dark)')
	let chosen = 'auto'
	const show = () => {
		const theme = chosen === 'light' || chosen === 'dark' ? chosen : system.matches ? 'dark' : 'light'
		document.documentElement.dataset.theme = theme
	}
	try {
		chosen = localStorage.getItem('theme') ?? chosen
	} catch {
		// storage may be refused: then it is the system's
	}
	show()
	system.addEventListener('change', show)
	document.addEventListener('theme', (e) => {
		chosen = e.detail
		show()
	})

	// deploy/join has all that a module brings in place of its name
	const screens = [
		[/^\/dashboard\/runs\/?$/, ['@WITH /screens/runs.js@']],
		[/^\/dashboard\/runs\/run-/, ['@WITH /run/page.js@', '/run/run.css']],
	]
	for (const href of screens.find(([path]) => path.test(location.pathname))?.[1] ?? []) {
		const link = document.createElement('link')
		if (href.endsWith('.css')) Object.assign(link, { rel: 'preload', as: 'style' })
		else link.rel = 'modulepreload'
		link.href = href
		document.head.append(link)
	}
}
