/*
 * Reads the patches that git writes. indexPatch finds the files and counts their lines in one pass
 * over the text; the hunks of a file are cut when it is opened, and the words that changed are found
 * for what is drawn. Nothing here makes HTML, and no text is believed: a name is data.
 */

/**
 * @typedef {{from: string|null, to: string|null, path: string, status: "added"|"deleted"|"renamed"|"copied"|"modified",
 *   oldMode: string, newMode: string, similarity: number|null, binary: boolean, added: number, removed: number,
 *   start: number, body: number, end: number, generated: string}} PatchFile
 *   from, to: null where the file was or is not there; start..end is its part of the patch, body its first hunk;
 *   generated: why it is folded, "" for a file that people write
 * @typedef {{kind: " "|"+"|"-"|"\\", text: string, old: number, now: number, marks?: [number, number][]}} Line
 * @typedef {{old: number, oldCount: number, now: number, nowCount: number, section: string, lines: Line[]}} Hunk
 */

const LOCKFILES = new Set([
	'package-lock.json',
	'npm-shrinkwrap.json',
	'yarn.lock',
	'pnpm-lock.yaml',
	'bun.lock',
	'bun.lockb',
	'deno.lock',
	'Cargo.lock',
	'Gemfile.lock',
	'composer.lock',
	'poetry.lock',
	'Pipfile.lock',
	'uv.lock',
	'pdm.lock',
	'go.sum',
	'flake.lock',
	'mix.lock',
	'pubspec.lock',
	'Podfile.lock',
	'gradle.lockfile',
	'packages.lock.json',
])
const GENERATED = [
	[/(^|\/)(node_modules|vendor|third_party|bower_components)\//, 'vendored'],
	[/(^|\/)(dist|build|out|target|__pycache__|\.next)\//, 'build output'],
	[/\.min\.(js|css)$|\.map$/, 'minified'],
	[/(\.pb\.go|_pb2\.py|\.pb\.(cc|h)|\.g\.dart|\.generated\.\w+|_generated\.\w+)$/, 'generated'],
	[/(^|\/)__snapshots__\/|\.snap$/, 'snapshot'],
]

/** Why a file is folded at first: "lockfile", "vendored"…; "" for one that people write. */
export function generatedReason(path) {
	if (LOCKFILES.has(path.slice(path.lastIndexOf('/') + 1))) return 'lockfile'
	const hit = GENERATED.find(([pattern]) => pattern.test(path))
	return hit ? hit[1] : ''
}

const ESCAPES = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 }

/* git quotes names as C does: bytes of UTF-8 as octal numbers. Returns [name, where it ends]. */
function quoted(s, at) {
	const bytes = []
	let i = at + 1
	for (; i < s.length && s[i] !== '"'; i++) {
		if (s[i] !== '\\') {
			bytes.push(...new TextEncoder().encode(s[i]))
		} else if (/^[0-3][0-7]{2}/.test(s.slice(i + 1, i + 4))) {
			bytes.push(parseInt(s.slice(i + 1, i + 4), 8))
			i += 3
		} else {
			i++
			bytes.push(ESCAPES[s[i]] ?? (s.charCodeAt(i) || 92))
		}
	}
	return [new TextDecoder().decode(new Uint8Array(bytes)), i + 1]
}

/* A name as it stands behind "--- " or "rename from ": quoted or not, with or without its a/ or b/. */
function nameOf(s, prefixed) {
	let name = s.startsWith('"') ? quoted(s, 0)[0] : s.replace(/\t.*$/, '')
	if (name === '/dev/null' && prefixed) return null
	if (prefixed) name = name.replace(/^[^/]*\//, '')
	return name
}

/* Both names of "diff --git a/x b/x"; used only where no other line names the file. */
function headerNames(s) {
	if (s.startsWith('"')) {
		const [from, end] = quoted(s, 0)
		return [from.replace(/^[^/]*\//, ''), nameOf(s.slice(end + 1), true)]
	}
	if (s.endsWith('"')) {
		const cut = s.indexOf(' "')
		return [nameOf(s.slice(0, cut), true), nameOf(s.slice(cut + 1), true)]
	}
	/* without a rename both are the same, so the blank between them is in the middle */
	const half = (s.length - 1) / 2
	if (Number.isInteger(half) && s[half] === ' ' && s.slice(2, half) === s.slice(half + 3))
		return [s.slice(2, half), s.slice(half + 3)]
	const cut = s.indexOf(' b/')
	return cut < 0 ? [s, s] : [s.slice(2, cut), s.slice(cut + 3)]
}

function readHeader(file, line) {
	const rest = (word) => line.slice(word.length)
	if (line.startsWith('--- ')) file.from = nameOf(rest('--- '), true)
	else if (line.startsWith('+++ ')) file.to = nameOf(rest('+++ '), true)
	else if (line.startsWith('rename from '))
		[file.status, file.from] = ['renamed', nameOf(rest('rename from '), false)]
	else if (line.startsWith('rename to ')) file.to = nameOf(rest('rename to '), false)
	else if (line.startsWith('copy from ')) [file.status, file.from] = ['copied', nameOf(rest('copy from '), false)]
	else if (line.startsWith('copy to ')) file.to = nameOf(rest('copy to '), false)
	else if (line.startsWith('similarity index ')) file.similarity = parseInt(rest('similarity index '), 10)
	else if (line.startsWith('old mode ')) file.oldMode = rest('old mode ')
	else if (line.startsWith('new mode ')) file.newMode = rest('new mode ')
	else if (line.startsWith('new file mode '))
		[file.status, file.newMode, file.from] = ['added', rest('new file mode '), null]
	else if (line.startsWith('deleted file mode '))
		[file.status, file.oldMode, file.to] = ['deleted', rest('deleted file mode '), null]
	else if (line.startsWith('Binary files ') || line === 'GIT binary patch') file.binary = true
}

function readFile(text, start, end) {
	const lineEnd = (at) => {
		const i = text.indexOf('\n', at)
		return i < 0 || i > end ? end : i
	}
	const first = lineEnd(start)
	const [from, to] = headerNames(text.slice(start + 'diff --git '.length, first))
	/** @type {PatchFile} */
	const file = {
		from,
		to,
		path: '',
		status: 'modified',
		oldMode: '',
		newMode: '',
		similarity: null,
		binary: false,
		added: 0,
		removed: 0,
		start,
		body: end,
		end,
		generated: '',
	}
	let at = first + 1
	for (; at < end && !text.startsWith('@@ ', at) && !file.binary; at = lineEnd(at) + 1)
		readHeader(file, text.slice(at, lineEnd(at)))
	file.body = Math.min(at, end)
	for (; at < end && !file.binary; at = lineEnd(at) + 1) {
		const c = text.charCodeAt(at)
		if (c === 43) file.added++
		else if (c === 45) file.removed++
	}
	file.path = file.to ?? file.from ?? ''
	file.generated = generatedReason(file.path)
	return file
}

/**
 * The files of a patch, in its order.
 * @param {string} text
 * @returns {{files: PatchFile[], added: number, removed: number}}
 */
export function indexPatch(text) {
	const files = []
	let at = text.startsWith('diff --git ') ? 0 : text.indexOf('\ndiff --git ') + 1
	if (!at && !text.startsWith('diff --git ')) return { files, added: 0, removed: 0 }
	/* no line of a hunk can begin with "diff": it begins with a blank, +, - or \ */
	while (at < text.length) {
		const next = text.indexOf('\ndiff --git ', at)
		const end = next < 0 ? text.length : next + 1
		files.push(readFile(text, at, end))
		at = end
	}
	return {
		files,
		added: files.reduce((n, f) => n + f.added, 0),
		removed: files.reduce((n, f) => n + f.removed, 0),
	}
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/

/**
 * The hunks of one file.
 * @param {string} text the patch
 * @param {PatchFile} file
 * @returns {Hunk[]}
 */
export function fileHunks(text, file) {
	const hunks = []
	if (file.binary || file.body >= file.end) return hunks
	const lines = text.slice(file.body, file.end).split('\n')
	if (lines[lines.length - 1] === '') lines.pop()
	let hunk = null,
		old = 0,
		now = 0
	for (const line of lines) {
		const m = line.startsWith('@@') ? HUNK.exec(line) : null
		if (m) {
			;[old, now] = [Number(m[1]), Number(m[3])]
			hunk = { old, oldCount: Number(m[2] ?? 1), now, nowCount: Number(m[4] ?? 1), section: m[5], lines: [] }
			hunks.push(hunk)
		} else if (hunk) {
			/* some tools drop the blank of an empty line */
			const kind = line[0] ?? ' '
			if (kind === '+') hunk.lines.push({ kind, text: line.slice(1), old: 0, now: now++ })
			else if (kind === '-') hunk.lines.push({ kind, text: line.slice(1), old: old++, now: 0 })
			else if (kind === '\\') hunk.lines.push({ kind, text: line.slice(2), old: 0, now: 0 })
			else hunk.lines.push({ kind: ' ', text: line.slice(1), old: old++, now: now++ })
		}
	}
	return hunks
}
