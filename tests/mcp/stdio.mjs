// asb mcp, driven by an official SDK's client over its stdio transport, from an environment that has next to
// nothing. stdio.mjs 1|2 ASB TREE: the SDK of that generation, the program, a working tree with a word in a file that
// is not committed. A line for each check.
import process from 'node:process'
import assert from 'node:assert'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [, , generation, command, tree] = process.argv
const url = new URL(`${process.env.ASB_URL}/mcp`)
const token = readFileSync(process.env.ASB_TOKEN_FILE, 'utf8').trim()
const requestInit = { headers: { Authorization: `Bearer ${token}` } }
// no token: the operator's of this machine's site is read where it may be
const server = { command, args: ['mcp'], cwd: '/', stderr: 'pipe',
	env: { HOME: process.env.HOME, PATH: process.env.PATH, ASB_URL: process.env.ASB_URL, WORKSPACE_DIR: tree } }

const sdk = generation === '1'
	? { ...await import('@modelcontextprotocol/sdk/client/index.js'), ...await import('@modelcontextprotocol/sdk/client/stdio.js'),
		...await import('@modelcontextprotocol/sdk/client/streamableHttp.js') }
	: { ...await import('@modelcontextprotocol/client'), ...await import('@modelcontextprotocol/client/stdio') }
const options = generation === '1' ? {} : { versionNegotiation: { mode: 'auto' } }

async function connect(transport) {
	const client = new sdk.Client({ name: 'stdio', version: generation }, options)
	await client.connect(transport)
	const call = (name, args, more) => generation === '1'
		? client.callTool({ name, arguments: args }, undefined, more) : client.callTool({ name, arguments: args }, more)
	return { client, call }
}

let failed = 0
function check(name, ok, seen) {
	console.log(`${ok ? 'ok  ' : 'FAIL'} SDK v${generation}: ${name}`)
	if (!ok) console.log(`     ${JSON.stringify(seen)?.slice(0, 500)}`)
	failed += ok ? 0 : 1
}
const first = (result) => result.content[0].text.split('\n')[0]
const same = (a, b) => { try { assert.deepStrictEqual(a, b); return true } catch { return false } }

const http = await connect(new sdk.StreamableHTTPClientTransport(url, { requestInit }))
const transport = new sdk.StdioClientTransport(server)
const { client, call } = await connect(transport)
check('connects', true)

const there = (await http.client.listTools()).tools
const here = (await client.listTools()).tools
const added = []
for (const tool of here)
	for (const name of ['source', 'sync_from'])
		if (tool.inputSchema.properties?.[name]) {
			added.push(`${tool.name}.${name}`)
			delete tool.inputSchema.properties[name]
		}
check('adds two arguments', same(added.sort(), ['create_sandbox.sync_from', 'delegate.source']), added)
check('and lists the same tools but for them', same(here, there), here.map((t) => t.name))

const done = await call('delegate', { task: 'grep -q not-committed word && ! grep -q x .env', source: 'local' }, { onprogress() {} })
check('source local takes the tree along as it is', /^run:done exit=0 /.test(first(done)), done)
const refused = await call('create_sandbox', { language: 'bash', sync_from: '/etc' })
check('sync_from takes no directory that nobody enabled', refused.isError === true && /asb init/.test(refused.content[0].text), refused)

// a wait that its client gives up ends here, and the run goes on
const early = await call('delegate', { task: 'sleep 60', wait_ms: 0 })
const { session } = early.structuredContent
const control = new AbortController()
const waiting = call('status', { session }, { signal: control.signal })
setTimeout(() => control.abort(), 500)
check('a call can be cancelled', await waiting.then(() => false, () => true))
const still = await call('status', { session, wait_ms: 0 })
check('which ends the wait alone', /^run:(queued|starting|running) /.test(first(still)), still)

// the programs behind it are started anew while it is asked
const supervise = (...how) => new Promise((resolve) => execFile('s6-svc', how, { cwd: `${process.env.ASB_RUN_DIR}/programs` }, resolve))
const restart = async (name) => await supervise('-wD', '-d', name) ?? await supervise('-wu', '-u', name)
const restarted = restart('nginx').then(async (error) => error ?? await restart('web'))
let answered = 0, over = false
restarted.then(() => (over = true))
while (!over) {
	await call('pool_status', {})
	answered++
}
check('the site was restarted', await restarted === null)
const after = await call('teardown', { session })
check('and every call was answered', answered > 0 && after.isError !== true, after)
await client.close()
await http.client.close()
process.exit(failed ? 1 : 0)
