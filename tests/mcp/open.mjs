// Calls that are open while something happens to the site. open.mjs N SESSION: opens N status calls, writes
// "open" once each has its head, and says at the end how many JSON-RPC answers came for how many calls.
import process from 'node:process'
import { readFileSync } from 'node:fs'

const [n, session] = [Number(process.argv[2]), process.argv[3]]
const token = readFileSync(process.env.ASB_TOKEN_FILE, 'utf8').trim()
const said = {}

function request(id) {
	return {
		method: 'POST',
		headers: {
			Authorization: `Bearer ${token}`,
			'Content-Type': 'application/json',
			Accept: 'application/json, text/event-stream',
			'MCP-Protocol-Version': '2025-11-25'
		},
		body: JSON.stringify({
			jsonrpc: '2.0',
			id,
			method: 'tools/call',
			params: {
				name: 'status',
				arguments: { session },
				...(id % 2 ? { _meta: { progressToken: id } } : {})
			}
		})
	}
}

// The JSON-RPC messages of an answer with this id, be it a stream or not.
function answers(type, body, id) {
	const texts = type.startsWith('text/event-stream')
		? body.split('\n\n').filter((e) => e.startsWith('data: ')).map((e) => e.slice(6))
		: [body]
	return texts.map((t) => JSON.parse(t)).filter((m) => m.id === id)
}

async function finish(response, id) {
	let body = ''
	try {
		for await (const part of response.body.pipeThrough(new TextDecoderStream())) body += part
		const found = answers(response.headers.get('content-type'), body, id)
		if (found.length !== 1) throw new Error(`${found.length} answers in ${body.slice(-200)}`)
		return found[0].result.content[0].text.split(' ')[0]
	} catch (e) {
		return `none (${e.message})`
	}
}

const responses = await Promise.all(Array.from({ length: n }, (_, id) => fetch(`${process.env.ASB_URL}/mcp`, request(id))))
console.log('open')
for (const what of await Promise.all(responses.map(finish))) said[what] = (said[what] ?? 0) + 1
console.log(JSON.stringify(said))
