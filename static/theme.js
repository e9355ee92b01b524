/* Before the first paint, so that nothing flashes: the theme that was chosen on this device. Not a module. */
'use strict'
try {
	const theme = localStorage.getItem('theme')
	if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
	// storage may be refused: then it is the system's
}
