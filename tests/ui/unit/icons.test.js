/* deploy/icons: the shapes of icons.svg are where they are drawn, and each one that is named is there. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ICONS } from '../../../build/modules/lib/icons.js'

const repo = join(dirname(fileURLToPath(import.meta.url)), '../../..')

test('every icon that a screen names is there, and no other', () => {
	const files = readdirSync(join(repo, 'static'), { recursive: true }).filter((f) => /\.(js|html)$/.test(f))
	const text = files.map((f) => readFileSync(join(repo, 'static', f), 'utf8')).join('\n')
	const named = new Set()
	for (const m of text.matchAll(/<\$\{Icon\} name="(\w+)"|\bicon="(\w+)"|\bicon: '(\w+)'|icons\.svg#(\w+)/g)) named.add(m.slice(1).find(Boolean))
	assert(named.size > 20)
	assert.deepEqual([...named].filter((n) => !ICONS[n]), [])
	// some are chosen by an expression: as words they are there all the same
	assert.deepEqual(Object.keys(ICONS).filter((n) => !named.has(n) && !new RegExp(`['"]${n}['"]`).test(text)), [])
})

/** @param {string} svg @param {string} page */
function made(svg, page, look) {
	const folder = mkdtempSync(join(tmpdir(), 'icons-'))
	try {
		mkdirSync(join(folder, 'lib'))
		writeFileSync(join(folder, 'icons.svg'), svg)
		writeFileSync(join(folder, 'index.html'), page)
		return look(join(repo, 'deploy/icons'), folder)
	} finally {
		rmSync(folder, { recursive: true })
	}
}
const SVG = '<svg xmlns="http://www.w3.org/2000/svg">\n<symbol id="a" viewBox="0 0 9 9"><path d="M1 1h1"/><path d="M2 2" stroke-width="2"/></symbol>\n</svg>\n'
const use = (name) => `<p><svg class="icon" width="9"><use href="/icons.svg#${name}"/></svg></p>`

test('a page has the shapes in place of the file', () =>
	made(SVG, use('a'), (program, folder) => {
		execFileSync(program, [folder])
		assert.equal(readFileSync(join(folder, 'index.html'), 'utf8'), '<p><svg class="icon" width="9" viewBox="0 0 9 9"><path d="M1 1h1"/><path d="M2 2" stroke-width="2"/></svg></p>')
		assert.deepEqual(readdirSync(folder).sort(), ['index.html', 'lib'])
	}))

for (const [what, svg, page, words] of [
	['an icon that is not there', SVG, use('b'), /index\.html: no icon is called b/],
	['a shape that is no path', SVG.replace('<path d="M1 1h1"/>', '<circle r="1"/>'), use('a'), /a: not understood: <circle/],
	['a line that is no symbol', SVG.replace('</svg>', '<script/></svg>'), use('a'), /not understood: <script/],
])
	test(`${what} is refused`, () =>
		made(svg, page, (program, folder) => {
			const r = spawnSync(program, [folder], { encoding: 'utf8' })
			assert.notEqual(r.status, 0)
			assert.match(r.stderr, words)
		}))
