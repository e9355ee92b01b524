/*
 * Which words of a changed line changed: pairs the removed and added lines of a hunk and compares
 * them word by word. Lines that have little in common stay whole: emphasis on everything says nothing.
 */

/** Longer lines are not compared: the table of a comparison grows with the square. */
const MAX_TOKENS = 400
const MAX_CHARS = 2000

const tokens = (s) => s.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []

/* Marks [from, to) of the tokens that are not kept, neighbours joined. */
function rangesOf(list, kept) {
	const out = []
	let at = 0
	list.forEach((t, i) => {
		if (!kept[i]) {
			const last = out[out.length - 1]
			if (last && last[1] === at) last[1] = at + t.length
			else out.push([at, at + t.length])
		}
		at += t.length
	})
	return out
}

/* The longest common subsequence of two lists: which of each are kept. */
function common(a, b) {
	const width = b.length + 1,
		table = new Uint16Array((a.length + 1) * width)
	for (let i = a.length - 1; i >= 0; i--)
		for (let j = b.length - 1; j >= 0; j--)
			table[i * width + j] =
				a[i] === b[j]
					? table[(i + 1) * width + j + 1] + 1
					: Math.max(table[(i + 1) * width + j], table[i * width + j + 1])
	const keptA = new Array(a.length).fill(false),
		keptB = new Array(b.length).fill(false)
	for (let i = 0, j = 0; i < a.length && j < b.length;) {
		if (a[i] === b[j]) keptA[i++] = keptB[j++] = true
		else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++
		else j++
	}
	return [keptA, keptB]
}

/**
 * What changed between two lines, as ranges of each; null where they have too little in common.
 * @returns {[[number, number][], [number, number][]] | null}
 */
export function wordChanges(before, after) {
	if (before.length > MAX_CHARS || after.length > MAX_CHARS) return null
	const a = tokens(before),
		b = tokens(after)
	if (a.length > MAX_TOKENS || b.length > MAX_TOKENS || !a.length || !b.length) return null
	const [keptA, keptB] = common(a, b)
	const same = a.reduce((n, t, i) => n + (keptA[i] && t.trim() ? t.length : 0), 0)
	const longest = Math.max(before.trim().length, after.trim().length)
	if (same * 3 < longest) return null
	return [rangesOf(a, keptA), rangesOf(b, keptB)]
}

/**
 * Sets `marks` on the changed lines of a hunk: the first removed line of a block belongs to the first
 * added one, and so on.
 * @param {import("./diff.js").Hunk} hunk
 */
export function markWords(hunk) {
	const lines = hunk.lines
	for (let i = 0; i < lines.length;) {
		const removed = [],
			added = []
		for (; i < lines.length && lines[i].kind === '-'; i++) removed.push(lines[i])
		for (; i < lines.length && (lines[i].kind === '+' || lines[i].kind === '\\'); i++)
			if (lines[i].kind === '+') added.push(lines[i])
		for (let n = 0; n < Math.min(removed.length, added.length); n++) {
			const pair = wordChanges(removed[n].text, added[n].text)
			if (pair) [removed[n].marks, added[n].marks] = pair
		}
		if (!removed.length && !added.length) i++
	}
	return hunk
}
