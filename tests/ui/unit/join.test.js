/* deploy/join: modules that are wanted together are one file, and do what they did apart. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const program = join(dirname(fileURLToPath(import.meta.url)), '../../../deploy/join')
const long = `/* ${'x'.repeat(2000)} */`
const FILES = {
	'package.json': '{"type":"module"}',
	'app.js': `import twice from './lib/vendor.js'
import { one as first } from './lib/vendor.js'
import { count } from './lib/count.js'
export const said = () => [first, twice(21), count()]
export const fetch = { x: () => import('./screens/x.js'), y: () => import('./screens/y.js') }
`,
	'lib/vendor.js': 'const a=1;export{a as one};export default function(n){return 2*n}',
	'lib/count.js': "import{one as n}from'./vendor.js';let calls = 0\nexport function count() {\n\treturn (calls += n)\n}\nexport { one } from './vendor.js'\n",
	'lib/shared.js': `${long}\nimport { count, one } from './count.js'\nexport class Shared {\n\tnow = () => count() + one\n}\n`,
	'lib/tiny.js': 'export const tiny = "tiny"\n',
	'screens/x.js': "import { Shared } from '../lib/shared.js'\nimport { tiny } from '../lib/tiny.js'\nimport { only } from './only.js'\nexport const X = () => [new Shared().now(), tiny, only]\nexport const deep = () => import('./deep.js')\n",
	'screens/only.js': `${long}\nexport const only = "x's"\n`,
	'screens/deep.js': "import { only } from './only.js'\nexport async function D() {\n\treturn only\n}\n",
	'screens/y.js': "import { Shared } from '../lib/shared.js'\nimport { tiny } from '../lib/tiny.js'\nexport const Y = () => [new Shared().now(), tiny]\n",
	'a.css': 'a{}\n',
	'b.css': 'b{}\n',
	'c.css': 'c{}\n',
	'index.html': '<link rel="stylesheet" href="/a.css">\n<link rel="stylesheet" href="/b.css">\n',
	'theme.js': "const wants = ['@WITH /screens/x.js@', '/c.css']\n",
	'other.html': '<link rel="stylesheet" href="/a.css">\n<link rel="stylesheet" href="/c.css">\n',
}

/** @param {Record<string, string>} more @param {(folder: string, run: any) => any} look */
async function joined(more, look) {
	const folder = mkdtempSync(join(tmpdir(), 'join-'))
	try {
		for (const [name, text] of Object.entries({ ...FILES, ...more })) {
			mkdirSync(dirname(join(folder, name)), { recursive: true })
			writeFileSync(join(folder, name), text)
		}
		await look(folder)
	} finally {
		rmSync(folder, { recursive: true })
	}
}

test('what is joined does what it did, and state is there once', () =>
	joined({}, async (folder) => {
		execFileSync(program, [folder])
		const app = await import(pathToFileURL(join(folder, 'app.js')).href)
		const { $app } = app
		assert.equal($app, undefined, 'nobody asks for the first one by name')
		const lib = app.$lib_count
		assert.equal(lib.count(), 1)
		const x = await import(pathToFileURL(join(folder, 'screens/x.js')).href)
		assert.deepEqual(x.X(), [3, 'tiny', "x's"])
		assert.equal(await (await x.deep()).D(), "x's")
		const y = await import(pathToFileURL(join(folder, 'screens/y.js')).href)
		assert.deepEqual(y.Y(), [4, 'tiny'], 'the same count')
	}))

test('who is wanted together is together; what is tiny comes with the first; sheets that follow each other are one', () =>
	joined({}, (folder) => {
		execFileSync(program, [folder])
		const there = Object.keys(FILES).filter((f) => existsSync(join(folder, f)))
		assert.deepEqual(there, ['package.json', 'app.js', 'lib/shared.js', 'screens/x.js', 'screens/deep.js', 'screens/y.js', 'b.css', 'c.css', 'index.html', 'theme.js', 'other.html'])
		const text = (f) => readFileSync(join(folder, f), 'utf8')
		assert.equal(text('index.html'), '<link rel="stylesheet" href="/b.css">\n')
		assert.equal(text('theme.js'), "const wants = ['/lib/shared.js', '/screens/x.js', '/c.css']\n")
		assert.equal(text('b.css'), 'a{}\nb{}\n')
		assert.equal(text('c.css'), 'a{}\nc{}\n')
	}))

for (const [what, more, words] of [
	['a cycle', { 'lib/count.js': "import { Shared } from './shared.js'\nexport const count = () => Shared\nexport const one = 1\n" }, /a cycle: .*lib\/count\.js/],
	['a binding that may change', { 'lib/tiny.js': 'export let tiny = 1\n' }, /lib\/tiny\.js: not understood: export let tiny/],
	['a module that is not there', { 'lib/tiny.js': "import { x } from './nowhere.js'\nexport const tiny = x\n" }, /lib\/nowhere\.js/],
	['all of a module by one name', { 'lib/tiny.js': "import * as v from './vendor.js'\nexport const tiny = v\n" }, /not understood: import \*/],
])
	test(`${what} is refused`, () =>
		joined(more, (folder) => {
			const r = spawnSync(program, [folder], { encoding: 'utf8' })
			assert.notEqual(r.status, 0)
			assert.match(r.stderr, words)
		}))
