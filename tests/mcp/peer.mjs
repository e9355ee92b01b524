// A server as one writes it with Node and the official SDK (1.x): Streamable HTTP without sessions, JSON answers, a
// bearer, the tools that a file lists, and a `run` that starts a process. peer.mjs PORT TOOLS.json COMMAND...: COMMAND is
// what `run` starts. Says "ready" once it listens. Kind to it: no schema is converted and no argument checked, nothing is
// kept, audited or logged.
import process from 'node:process'
import { createServer } from 'node:http'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const [, , port, file, command, ...args] = process.argv
const { tools } = JSON.parse(readFileSync(file, 'utf8'))
const bearer = `Bearer ${process.env.PEER_TOKEN}`

function run() {
	return new Promise((resolve) => execFile(command, args, (error, stdout, stderr) => resolve({
		content: [{ type: 'text', text: `exit=${error ? error.code : 0}\n${stdout}${stderr}` }],
		structuredContent: { exit_code: error ? error.code : 0, stdout, stderr }
	})))
}

// the SDK's way without sessions: a server and a transport for each request
async function serve(request, response) {
	if (request.headers.authorization !== bearer) return response.writeHead(401).end()
	const server = new Server({ name: 'peer', version: '1' }, { capabilities: { tools: {} } })
	server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
	server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
		if (params.name !== 'run') throw new Error('no such tool')
		return run()
	})
	const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true })
	response.on('close', () => { transport.close(); server.close() })
	await server.connect(transport)
	await transport.handleRequest(request, response)
}

createServer((request, response) => serve(request, response).catch((error) => response.writeHead(500).end(String(error))))
	.listen(Number(port), '127.0.0.1', () => console.log('ready'))
