// codex.mjs CODEX: asks Codex's own server what its MCP servers have, as its window would, and prints the answer.
import { spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'

const codex = spawn(process.argv[2], ['app-server'], { stdio: ['pipe', 'pipe', 'inherit'] })
const send = (message) => codex.stdin.write(`${JSON.stringify(message)}\n`)
send({ id: 1, method: 'initialize', params: { clientInfo: { name: 'test', version: '1' } } })
for await (const line of createInterface({ input: codex.stdout })) {
	const message = JSON.parse(line)
	if (message.id === 1) {
		send({ method: 'initialized' })
		send({ id: 2, method: 'mcpServerStatus/list', params: {} })
	}
	if (message.id === 2) {
		console.log(JSON.stringify(message))
		codex.kill()
		process.exit(message.result ? 0 : 1)
	}
}
