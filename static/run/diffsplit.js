/*
 * A hunk as two columns: what was there on the left, what is there now on the right. Lines that took each other's
 * place stand in one row; where one side has fewer, its half of the row is empty.
 */

/**
 * @typedef {{left: import('./diff.js').Line|null, right: import('./diff.js').Line|null, note?: import('./diff.js').Line}} Pair
 *   note: a word of git's about the line before it, over the whole width
 * @param {import('./diff.js').Line[]} lines @returns {Pair[]}
 */
export function splitRows(lines) {
	const out = []
	let gone = []
	let come = []
	const settle = () => {
		for (let i = 0; i < Math.max(gone.length, come.length); i++)
			out.push({ left: gone[i] ?? null, right: come[i] ?? null })
		gone = []
		come = []
	}
	for (const line of lines) {
		if (line.kind === '-') {
			// removed lines after added ones begin a change of their own
			if (come.length) settle()
			gone.push(line)
		} else if (line.kind === '+') come.push(line)
		else if (line.kind === '\\' && gone.length && !come.length) continue
		else {
			settle()
			out.push(line.kind === '\\' ? { left: null, right: null, note: line } : { left: line, right: line })
		}
	}
	settle()
	return out
}
