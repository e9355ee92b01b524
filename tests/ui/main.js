/* Runs the tests of the screens one after the other: all *.test.js beside this but benchmarks, or those that are
 * named. */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runAll } from './lib/harness.js'

const here = dirname(fileURLToPath(import.meta.url))
const only = process.argv.slice(2)
// the first ones want a site without rows, the next one with the pictures' rows alone
const order = ['empty', 'signin', 'screens']
const rank = (n) => (order.includes(n) ? order.indexOf(n) : order.length)
const names = readdirSync(here)
	.filter((f) => f.endsWith('.test.js'))
	.map((f) => f.slice(0, -'.test.js'.length))
	.filter((n) => (only.length ? only.includes(n) : !n.endsWith('.bench')))
	.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
if (!names.length) {
	console.log(`no test of the screens is called ${only.join(' ')}`)
	process.exit(2)
}
for (const n of names) await import(pathToFileURL(join(here, `${n}.test.js`)).href)
process.exit((await runAll()) ? 0 : 1)
