/* What every screen in every state has to stand: axe, layout, sizes of targets. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { SIZES } from './harness.js'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** axe: no violation. Evaluated by the debugger, so that the page's own policy stays as it is. */
export async function axe(page, what) {
	if (!(await page.evaluate(() => !!window.axe))) await page.evaluate(axeSource)
	const found = await page.evaluate(async (tags) => {
		const r = await window.axe.run(document, { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })
		return r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 4).map((n) => `${n.target.join(' ')} ${n.failureSummary.replace(/\s+/g, ' ').slice(0, 220)}`).join(' | ')}`)
	}, TAGS)
	assert.deepEqual(found, [], `axe: ${what}`)
}

/** Colours that were on their way have arrived. What turns for ever is not waited for. */
export const repainted = (page) =>
	page.evaluate(async () => {
		const ends = document.getAnimations().filter((a) => a.effect?.getTiming().iterations !== Infinity)
		await Promise.allSettled(ends.map((a) => a.finished))
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
	})

/** Nothing is wider than the page, whatever its width. */
export async function noOverflow(page, what) {
	const over = await page.evaluate(() => {
		const width = document.documentElement.clientWidth
		if (document.documentElement.scrollWidth <= width) return []
		const scrolls = (el) => {
			for (let p = el.parentElement; p; p = p.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX)) return true
			return false
		}
		return [...document.querySelectorAll('body *')]
			.filter((el) => el.getBoundingClientRect().right > width + 0.5 && !scrolls(el))
			.map((el) => `${el.tagName}.${el.className?.baseVal ?? el.className} ${Math.round(el.getBoundingClientRect().right)}`)
			.slice(0, 8)
	})
	assert.deepEqual(over, [], `no horizontal overflow: ${what}`)
	assert(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), `no horizontal scrolling: ${what}`)
}

/**
 * Controls are at least `floor` px each way; what stands in running text is exempt (WCAG 2.5.8), and a box or a
 * radio is as large as its label.
 */
export async function targets(page, floor, what) {
	const small = await page.evaluate((floor) => {
		const out = []
		for (const el of document.querySelectorAll('a[href], button, input, select, textarea, summary, [role=button], [role=menuitem]')) {
			let box = el
			if (el.matches('input[type=checkbox], input[type=radio]')) box = el.closest('label') ?? el
			const s = getComputedStyle(box)
			let r = box.getBoundingClientRect()
			if (!r.width || !r.height || s.visibility === 'hidden' || el.closest('.sr-only, .skip, [aria-hidden=true]')) continue
			if (el.matches('input[type=file]')) continue
			if (el.matches('p a, li p a, dd a') && s.display.startsWith('inline') && !s.display.includes('flex')) continue
			// a link that is stretched over its row is as large as the row
			if (el.matches('.row-title') && getComputedStyle(el, '::after').position === 'absolute') r = el.closest('.run-row').getBoundingClientRect()
			if (Math.min(r.width, r.height) < floor - 0.5) out.push(`${el.tagName}.${el.className?.baseVal ?? el.className} "${(el.textContent || el.getAttribute('aria-label') || '').trim().slice(0, 30)}" ${Math.round(r.width)}x${Math.round(r.height)}`)
		}
		return out
	}, floor)
	assert.deepEqual(small, [], `targets of at least ${floor} px: ${what}`)
}

/** One h1, a main, a title. */
export async function landmarks(page, what) {
	const n = await page.evaluate(() => [document.querySelectorAll('h1').length, document.querySelectorAll('main').length])
	assert.deepEqual(n, [1, 1], `one h1 and one main: ${what}`)
	assert.match(await page.title(), /Agent Sandbox/)
}

/** The same page over a phone's keyboard and on its side, one theme each: what a theme changes was judged before. */
async function lowSizes(page, name) {
	for (const [size, theme] of [['keyboard', 'dark'], ['landscape', 'light']]) {
		const [width, height] = SIZES[size]
		await page.emulateMedia({ colorScheme: theme })
		await page.setViewportSize({ width, height })
		await repainted(page)
		await noOverflow(page, `${name} ${size}`)
		await targets(page, 44, `${name} ${size}`)
		await axe(page, `${name} ${size} ${theme}`)
	}
}

/**
 * One screen in one state: at 390x844 and 1440x900, light and dark, axe and landmarks and targets and a picture;
 * at 390x508 and 844x390 axe and targets; no overflow at these, 320 and 768. `reach` brings a page into the state; it gets (page, t). The theme changes
 * under the page, as it does when the evening comes.
 * @param {any} t @param {string} name @param {(page: any, t: any) => Promise<void>} reach
 * @param {{out?: boolean, sizes?: string[]}} [o]
 */
export async function screen(t, name, reach, o = {}) {
	for (const size of o.sizes ?? ['phone', 'desktop']) {
		const page = await t.page({ size, out: o.out })
		await reach(page, t)
		await landmarks(page, `${name} ${size}`)
		await targets(page, size === 'phone' ? 44 : 24, `${name} ${size}`)
		for (const theme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme: theme })
			await repainted(page)
			await t.picture(page, `${name}-${size}-${theme}`)
			assert(await page.evaluate(() => getComputedStyle(document.querySelector('h1')).color === getComputedStyle(document.documentElement).color), `all of the page is ${theme}: ${name} ${size}`)
			await axe(page, `${name} ${size} ${theme}`)
		}
		const { height } = page.viewportSize()
		for (const width of size === 'phone' ? [320, 390] : [768, 1440]) {
			await page.setViewportSize({ width, height })
			await noOverflow(page, `${name} at ${width}`)
		}
		if (size === 'phone') await lowSizes(page, name)
		await page.context().close()
	}
}
