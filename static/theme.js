/*
 * Light or dark, before the first paint, so that nothing flashes; not a module. What was chosen on this device wins
 * over the system's wish, which is followed when it changes. A page that lets people choose says so by an event
 * "theme" of the document, with "light", "dark" or "auto" as its detail.
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
}
