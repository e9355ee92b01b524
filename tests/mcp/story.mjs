// One story told by an official SDK's client: what there is, a sandbox from begin to end, a task that asks.
// story.mjs 1|2: the SDK of that generation (1 speaks the handshake, 2 the newest revision). A line for each check.
import process from 'node:process'
import { readFileSync } from 'node:fs'

const generation = process.argv[2]
const url = new URL(`${process.env.ASB_URL}/mcp`)
const token = readFileSync(process.env.ASB_TOKEN_FILE, 'utf8').trim()
const requestInit = { headers: { Authorization: `Bearer ${token}` } }

const forms = [] // what a client that has forms was asked by them

async function client1() {
	const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
	const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
	const client = new Client({ name: 'story', version: '1' })
	await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
	const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options)
	return { client, call, version: () => client.transport.protocolVersion }
}

async function client2() {
	const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
	const client = new Client({ name: 'story', version: '2' },
		{ versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { form: {} } } })
	client.setRequestHandler('elicitation/create', ({ params }) => {
		forms.push(params)
		return { action: 'accept', content: { answer: 'green' } }
	})
	await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
	const call = (name, args, options) => client.callTool({ name, arguments: args }, options)
	return { client, call, version: () => client.getNegotiatedProtocolVersion() }
}

let failed = 0
function check(name, ok, seen) {
	console.log(`${ok ? 'ok  ' : 'FAIL'} SDK v${generation}: ${name}`)
	if (!ok) console.log(`     ${JSON.stringify(seen)?.slice(0, 500)}`)
	failed += ok ? 0 : 1
}
const text = (result) => result.content[0].text
const first = (result) => text(result).split('\n')[0]
const last = (result) => text(result).trimEnd().split('\n').at(-1)

const { client, call, version } = await (generation === '1' ? client1() : client2())
check('speaks the version it should', version() === (generation === '1' ? '2025-11-25' : '2026-07-28'), version())

// the client checks every structuredContent against the schema that it saw here
const { tools } = await client.listTools()
const names = tools.map((t) => t.name)
const wanted = ['delegate', 'status', 'resume', 'teardown', 'create_sandbox', 'run', 'destroy_sandbox']
check('lists the tools', wanted.every((n) => names.includes(n)), names)

const made = await call('create_sandbox', { language: 'python' })
const sandbox_id = made.structuredContent.sandbox_id
check('create_sandbox answers when it is ready', first(made) === `sandbox:ready sandbox_id=${sandbox_id}`, made)
const ran = await call('run', { sandbox_id, code: 'print(2 + 2)\nraise SystemExit(3)' })
check('run gives the real result', ran.structuredContent.stdout === '4\n' && ran.structuredContent.exit_code === 3, ran)
check('a program that fails is no error', ran.isError === false && first(ran).includes('exit=3'), ran)
const wrong = await call('run', { sandbox_id, code: '' })
check('wrong arguments are a result that says how', wrong.isError === true && /code/.test(text(wrong)), wrong)
const gone = await call('destroy_sandbox', { sandbox_id })
check('destroy_sandbox proves it', gone.structuredContent.status === 'destroyed', gone)

let progressed = 0
const onprogress = ({ progress }) => (progressed += progress > 0 ? 1 : 0)
// the same task once more within ten minutes is the same call, and so the same run, but under another title
const title = `story ${generation}, ${process.pid}`
const asked = await call('delegate', { title, task: 'printf "colour: %s\\n" "$(asb-ask "Which colour?")"' }, { onprogress })
const { session } = asked.structuredContent
check('delegate comes back with the question', first(asked) === `run:waiting session=${session}`, asked)
check('verbatim, and says what to call', text(asked).includes('Which colour?') && last(asked).includes('resume'), asked)
const early = await call('delegate', { title, task: 'sleep 30', wait_ms: 300 })
check('what is not done yet names the next call',
	/^run:(queued|starting|running) /.test(first(early)) && last(early).includes(`status with session=${early.structuredContent.session}`), early)
await call('teardown', { session: early.structuredContent.session })
const done = await call('resume', { session, message: 'blue' }, { onprogress })
check('resume waits for the end', first(done) === `run:done exit=0 session=${session}`, done)
const log = await client.readResource({ uri: `asb://runs/${session}/log` })
check('the log is a resource', log.contents[0].text.includes('colour: blue'), log)
const nothing = await call('status', { session: 'run-aaaaaaaaaaaaaaaa' })
check('no such run is a result', nothing.isError === true && text(nothing).startsWith('error:not_found'), nothing)
await call('teardown', { session })
if (generation === '2') {
	const formed = await call('delegate', { title, task: 'printf "form: %s\\n" "$(asb-ask "Which form?")"', elicit: true }, { onprogress })
	check('a question is asked by a form where the call says so', forms[0]?.message === 'Which form?', forms)
	check('and the run goes on with it, in the same call', first(formed).startsWith('run:done exit=0'), formed)
	await call('teardown', { session: formed.structuredContent.session })
}
check('no form for who did not ask for one', forms.length === (generation === '2' ? 1 : 0), forms)
await client.close()
process.exit(failed ? 1 : 0)
