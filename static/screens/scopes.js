/* What keys and clients may do and how long keys last, in words. */

/** In order: each includes those before it. */
export const SCOPES = {
	'run:read': { word: 'Look', means: 'See runs, logs, files and diffs. Change nothing.' },
	'run:write': { word: 'Run things', means: 'Look; and start runs and sandboxes, answer questions, stop and tear down.' },
	admin: { word: 'Everything', means: 'Run things; make and revoke keys, connect clients and enter secrets.' },
}

/** The highest of a list. @param {string[]} list */
export const scopeOf = (list) => Object.keys(SCOPES).reverse().find((s) => list.includes(s)) ?? list.join(' ')

/** Days, as the form has them, and words. */
export const LIFETIMES = [
	['7', 'After 7 days'],
	['30', 'After 30 days'],
	['90', 'After 90 days'],
	['365', 'After a year'],
	['0', 'When I revoke it'],
]
/** @param {string} days */
export const lifetimeMs = (days) => Number(days) * 86_400_000
