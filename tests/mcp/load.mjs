// Requests over connections that stay open, as fast as they are answered. load.mjs URL TOKEN-FILE BODY-FILE CONNECTIONS
// SECONDS|COUNTx: prints "rps p50_ms p99_ms n" on a line; fails where an answer is not a result. It reads no more of an
// answer than its length, so that it is not the slow part.
import process from 'node:process'
import { connect } from 'node:net'
import { readFileSync } from 'node:fs'

const [, , address, token, file, connections, limit] = process.argv
const url = new URL(address)
const body = readFileSync(file, 'utf8')
const request = `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${readFileSync(token, 'utf8').trim()}\r\n` +
	'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n' +
	`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const count = limit.endsWith('x') ? Number(limit.slice(0, -1)) : Infinity
const until = count === Infinity ? performance.now() + Number(limit) * 1000 : Infinity
const times = []
let begun = 0

// How long an answer is, by its first part; Infinity: it ends with an empty chunk. An error where it is none.
function size(part) {
	const text = part.toString('latin1', 0, 4096)
	const head = text.indexOf('\r\n\r\n')
	const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head + 2))
	if (head < 0 || !text.startsWith('HTTP/1.1 200')) throw new Error(text.slice(0, 600))
	return length ? head + 4 + Number(length[1]) : Infinity
}

function one() {
	return new Promise((resolve, reject) => {
		const socket = connect(Number(url.port), url.hostname)
		let got, end, tail, result, since
		const next = () => {
			if (performance.now() >= until || begun >= count) return socket.end()
			begun++
			got = 0
			tail = ''
			result = false
			since = performance.now()
			socket.write(request)
		}
		const take = (part) => {
			if (!got) end = size(part)
			got += part.length
			result ||= part.includes('"result":')
			tail = (tail + part.toString('latin1', Math.max(0, part.length - 5))).slice(-5)
			if (got < end && (end !== Infinity || tail !== '0\r\n\r\n')) return
			if (!result) throw new Error(part.toString('latin1', 0, 600))
			times.push(performance.now() - since)
			next()
		}
		socket.setNoDelay(true)
		socket.on('connect', next).on('error', reject).on('close', resolve)
		socket.on('data', (part) => {
			try {
				take(part)
			} catch (error) {
				reject(error)
			}
		})
	})
}

const since = performance.now()
await Promise.all(Array.from({ length: Number(connections) }, one))
const seconds = (performance.now() - since) / 1000
times.sort((a, b) => a - b)
const at = (p) => times[Math.min(times.length - 1, Math.floor(times.length * p))].toFixed(2)
console.log((times.length / seconds).toFixed(1), at(0.5), at(0.99), times.length)
