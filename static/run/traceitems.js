/*
 * The rows of a trace as what is shown: by turn, a tool's call with its result, a question with its answer,
 * a terminal's output in one block, retries of one request as one. Rows are facts and stay as they are;
 * an item says which rows it is made of.
 */

/**
 * @typedef {{seq: number, turn: number, ts: string, kind: string, ref: string|null, text: string, data: any}} Row
 * @typedef {{type: "say"|"thinking"|"tool"|"terminal"|"error"|"retry"|"question"|"answer"|"system"|"result"|"raw",
 *   key: string, row: Row, rows: Row[], result?: Row|null, answer?: Row|null, depth?: number}} Item
 * @typedef {{turn: number, items: Item[], usage: any, first: Row}} Group
 */

const item = (type, row, more) => ({ type, key: `${type[0]}${row.seq}`, row, rows: [row], ...more })

/* Output of a program: one block as long as nothing else happens. */
function addTerminal(group, row) {
	const last = group.items[group.items.length - 1]
	if (last?.type === 'terminal') last.rows.push(row)
	else group.items.push(item('terminal', row))
}

function addError(group, row) {
	const last = group.items[group.items.length - 1]
	if (row.data?.kind !== 'api_retry') group.items.push(item('error', row))
	else if (last?.type === 'retry') last.rows.push(row)
	else group.items.push(item('retry', row))
}

class Grouping {
	constructor(script) {
		this.script = script
		/** @type {Group[]} */
		this.groups = []
		this.tools = new Map()
		this.questions = new Map()
	}

	group(row) {
		let last = this.groups[this.groups.length - 1]
		if (!last || last.turn !== row.turn) {
			last = { turn: row.turn, items: [], usage: null, first: row }
			this.groups.push(last)
		}
		return last
	}

	tool(group, row) {
		const parent = row.data?.parent ? this.tools.get(row.data.parent) : null
		const it = item('tool', row, { result: null, depth: parent ? (parent.depth ?? 0) + 1 : 0 })
		group.items.push(it)
		if (row.ref) this.tools.set(row.ref, it)
		/* the result of a program as a whole names no call: it ends the one that is open */
		this.open = row.data?.tool ? this.open : it
	}

	result(group, row) {
		const it = row.ref ? this.tools.get(row.ref) : this.open,
			whole = Boolean(it) && it === this.open
		if (it && !it.result) {
			it.result = row
			it.rows.push(row)
		}
		if (whole) this.open = null
		if (whole || !it) group.items.push(item('result', row))
	}

	answer(group, row) {
		const asked = this.questions.get(row.ref ?? '')
		if (asked && !asked.answer) {
			asked.answer = row
			asked.rows.push(row)
		} else {
			group.items.push(item('answer', row))
		}
	}

	add(row) {
		const group = this.group(row)
		switch (row.kind) {
			case 'say':
				return this.script ? addTerminal(group, row) : group.items.push(item('say', row))
			case 'error':
				return this.script ? addTerminal(group, row) : addError(group, row)
			case 'tool':
				return this.tool(group, row)
			case 'result':
				return this.result(group, row)
			case 'answer':
				return this.answer(group, row)
			case 'usage':
				return void (group.usage = row.data)
			case 'thinking':
				return group.items.push(item('thinking', row))
			case 'system':
				return group.items.push(item(row.data?.event ? 'raw' : 'system', row))
			case 'question': {
				const it = item('question', row, { answer: null })
				this.questions.set(row.ref ?? '', it)
				return group.items.push(it)
			}
			default:
				return group.items.push(item('raw', row))
		}
	}
}

/**
 * @param {Row[]} rows ascending
 * @param {boolean} script whether what it says is a terminal's output and not prose
 * @returns {Group[]}
 */
export function groupTrace(rows, script) {
	const g = new Grouping(script)
	for (const row of rows) g.add(row)
	return g.groups
}

/** Whether an item still shows the same rows: it need not be drawn again. */
export function sameItem(a, b) {
	return (
		a.type === b.type &&
		a.rows.length === b.rows.length &&
		a.rows[a.rows.length - 1].seq === b.rows[b.rows.length - 1].seq
	)
}

/** How a tool's call ended: "running", "ok" or "failed". */
export function toolOutcome(it) {
	if (!it.result) return 'running'
	const data = it.result.data ?? {}
	return data.is_error || (data.exit_code !== undefined && data.exit_code !== null && data.exit_code !== 0)
		? 'failed'
		: 'ok'
}

/** Milliseconds that a call took; null while it runs. */
export function toolMs(it) {
	if (!it.result) return null
	const data = it.result.data ?? {}
	return data.duration_ms ?? data.ms ?? Math.max(0, Date.parse(it.result.ts) - Date.parse(it.row.ts))
}

/* Lines of a row: it is split once. */
const split = new WeakMap()
function linesOf(row) {
	let lines = split.get(row)
	if (!lines) split.set(row, (lines = row.text.split('\n').map((text) => ({ text, err: row.kind === 'error' }))))
	return lines
}

/**
 * The first and last lines of a terminal block, and how many are between them. Only the rows at its ends are looked at.
 * @returns {{head: {text: string, err: boolean}[], hidden: number, tail: {text: string, err: boolean}[], from: number|null, to: number|null}}
 *   from, to: lines of the log (from 0) where known
 */
export function terminalLines(rows, headMax, tailMax) {
	const known = rows.filter((r) => typeof r.data?.first_line === 'number')
	const last = known[known.length - 1]
	const from = known.length ? known[0].data.first_line : null
	const to = last ? last.data.first_line + Math.max(1, last.data.nlines ?? 1) - 1 : null
	const total = rows.reduce((n, row) => n + linesOf(row).length, 0)
	const whole = total <= headMax + tailMax + 1
	const head = []
	for (let i = 0; i < rows.length && head.length < (whole ? total : headMax); i++) head.push(...linesOf(rows[i]))
	if (whole) return { head, hidden: 0, tail: [], from, to }
	const tail = []
	for (let i = rows.length - 1; i >= 0 && tail.length < tailMax; i--) tail.unshift(...linesOf(rows[i]))
	return { head: head.slice(0, headMax), hidden: total - headMax - tailMax, tail: tail.slice(-tailMax), from, to }
}
