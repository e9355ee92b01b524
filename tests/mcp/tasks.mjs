// The tasks extension, on the wire: the official SDK's client of 2.4 takes no result of that type. A task that asks is
// begun, followed, answered and done; another is cancelled. A line for each check.
import process from 'node:process'
import { readFileSync } from 'node:fs'

const token = readFileSync(process.env.ASB_TOKEN_FILE, 'utf8').trim()
const meta = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
}
let id = 0, failed = 0

async function ask(method, params) {
	const response = await fetch(`${process.env.ASB_URL}/mcp`, {
		method: 'POST',
		headers: {
			Authorization: `Bearer ${token}`,
			'Content-Type': 'application/json',
			Accept: 'application/json, text/event-stream',
			'MCP-Protocol-Version': '2026-07-28',
			'Mcp-Method': method,
			'Mcp-Name': params.name ?? params.taskId
		},
		body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params: { ...params, _meta: meta } })
	})
	return (await response.json()).result
}
const delegate = (task, title) => ask('tools/call', { name: 'delegate', arguments: { task, title } })
const get = (taskId) => ask('tasks/get', { taskId })

// Until it is something else than that.
async function after(taskId, status) {
	const until = Date.now() + 90000
	for (;;) {
		const task = await get(taskId)
		if (task.status !== status || Date.now() > until) return task
		await new Promise((resolve) => setTimeout(resolve, 500))
	}
}
function check(name, ok, seen) {
	console.log(`${ok ? 'ok  ' : 'FAIL'} tasks: ${name}`)
	if (!ok) console.log(`     ${JSON.stringify(seen)?.slice(0, 500)}`)
	failed += ok ? 0 : 1
}

const begun = await delegate('printf "form: %s\\n" "$(asb-ask "Which form?")"', `tasks ${process.pid}`)
check('delegate answers at once with a task', begun.resultType === 'task' && begun.status === 'working', begun)
const { taskId } = begun
const asked = await after(taskId, 'working')
const [key] = Object.keys(asked.inputRequests ?? {})
check('which comes to its question', asked.status === 'input_required' && asked.inputRequests[key]?.params.message === 'Which form?', asked)
const update = await ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content: { answer: 'round' } } } })
check('which is answered', update.resultType === 'complete', update)
let done = await after(taskId, 'input_required')
if (done.status === 'working') done = await after(taskId, 'working')
check('and goes on to its end', done.status === 'completed' && done.result?.content[0].text.startsWith(`run:done exit=0 session=${taskId}`), done)
const log = await ask('tools/call', { name: 'watch', arguments: { session: taskId } })
check('with the answer', JSON.stringify(log).includes('form: round'), log)
await ask('tasks/cancel', { taskId })
check('a cancel that comes too late ends nothing', (await get(taskId)).status === 'completed')

const other = await delegate('echo kept >kept; sleep 120', `tasks ${process.pid} cancelled`)
await ask('tasks/cancel', { taskId: other.taskId })
check('a task is cancelled', (await after(other.taskId, 'working')).status === 'cancelled', other)
await ask('tools/call', { name: 'teardown', arguments: { session: taskId } })
process.exit(failed ? 1 : 0)
