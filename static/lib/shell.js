/*
 * What stands around every screen: the rail or the bottom bar, the state of the connection, the sign-in sheet that
 * comes over the page when the session has ended, keys, the page's title, the app's badge.
 */
import { html, effect, signal, useEffect, useState } from './html.js'
import { post } from './api.js'
import { connection, heardAt, retryNow } from './events.js'
import { href, navigate, route } from './router.js'
import { fleet, session, signedOut, site, stateKey, updateReady, waiting, working } from './store.js'
import { STATES } from './strings.js'
import { oneLine, plural, visible } from './text.js'
import { ago, now } from './time.js'
import { announce, Button, ButtonLink, Dialog, Foreign, Icon, IconButton, Mark, Menu, pageTitle, toast, Toasts } from './ui.js'
import { draftDropAll } from './draft.js'
import { useMedia } from './media.js'
import { rememberSignedIn, SignInForm } from '../screens/signin.js'

// --- theme ----------------------------------------------------------------------------------------

const read = (key) => {
	try {
		return localStorage.getItem(key)
	} catch {
		return null
	}
}
export const theme = signal(read('theme') ?? 'auto')
export function setTheme(value) {
	theme.value = value
	try {
		if (value === 'auto') localStorage.removeItem('theme')
		else localStorage.setItem('theme', value)
	} catch {
		// then for this page only
	}
	document.dispatchEvent(new CustomEvent('theme', { detail: value }))
}
const THEMES = { auto: ['auto', 'Like the system'], light: ['sun', 'Light'], dark: ['moon', 'Dark'] }
const nextTheme = () => setTheme({ auto: 'light', light: 'dark', dark: 'auto' }[theme.value])

// --- signing out ----------------------------------------------------------------------------------

async function signOut() {
	try {
		await post('/logout.json', {}, { quiet: true })
	} catch (e) {
		if (e.status !== 401) return announce(e.message, 'assertive')
	}
	draftDropAll()
	rememberSignedIn(false)
	if (globalThis.caches) for (const k of await caches.keys()) await caches.delete(k)
	signedOut()
	location.assign('/dashboard/signin')
}

// --- navigation -----------------------------------------------------------------------------------

const NAV = [
	{ name: 'runs', label: 'Runs', icon: 'runs', to: href.runs() },
	{ name: 'machines', label: 'Machines', icon: 'machines', to: href.machines() },
	{ name: 'keys', label: 'Keys', icon: 'key', to: href.keys() },
	{ name: 'help', label: 'Help', icon: 'help', to: href.help() },
]
const here = (name) => (route.value.name === name ? 'page' : undefined)
const waitLabel = (n) => html`<span class="count" aria-hidden="true">${n}</span><span class="sr-only">, ${n} ${n === 1 ? 'needs' : 'need'} you</span>`

/** A few runs by name in the rail. */
function RailRuns({ title, list }) {
	if (!list.length) return null
	return html`<div class="rail-group"><h2>${title}</h2><ul>${list.slice(0, 6).map(
		(r) => html`<li key=${r.session}><a class=${`rail-run tone-${STATES[stateKey(r)]?.tone}`} href=${href.run(r.session)}
			aria-current=${route.value.params.session === r.session ? 'page' : undefined} title=${visible(oneLine(r.title, 120))}>
			<${Icon} name=${STATES[stateKey(r)]?.icon ?? 'circle'} size=${12} /><span><${Foreign} text=${oneLine(r.title, 80)} /></span></a></li>`,
	)}</ul></div>`
}

function Rail() {
	const n = waiting.value.length
	return html`<header class="rail">
		<a class="brand" href=${href.runs()} aria-label="Agent Sandbox, runs"><${Mark} size=${26} /><span>Agent Sandbox</span></a>
		<${ButtonLink} kind="primary" icon="plus" href=${href.new()} class="rail-new" title="New run (c)" aria-label="New run">New run</${ButtonLink}>
		<nav aria-label="Main"><ul>${NAV.map(
			(i) => html`<li key=${i.name}><a class="rail-link" href=${i.to} aria-current=${here(i.name)} title=${i.label}>
				<${Icon} name=${i.icon} /><span class="rail-word">${i.label}</span>${i.name === 'runs' && n > 0 && waitLabel(n)}</a></li>`,
		)}</ul></nav>
		<div class="rail-runs"><${RailRuns} title="Needs you" list=${waiting.value} /><${RailRuns} title="Working" list=${working.value} /></div>
		<div class="rail-foot">
			<${ConnectionChip} />
			<div class="rail-tools">
				<${IconButton} icon=${THEMES[theme.value][0]} label=${`Theme: ${THEMES[theme.value][1]}. Change`} action=${nextTheme} />
				<${IconButton} icon="search" label="Find a run or a command (Ctrl K)" action=${openPalette} class="wide-only" />
				<${IconButton} icon="keyboard" label="Keyboard shortcuts (?)" action=${() => (sheet.value = true)} class="wide-only" />
				<${IconButton} icon="leave" label="Sign out" action=${signOut} />
			</div>
		</div>
	</header>`
}

function BottomBar() {
	const n = waiting.value.length
	const items = [NAV[0], { name: 'new', label: 'New run', icon: 'plus', to: href.new() }, NAV[1], NAV[3]]
	return html`<nav class="bottom-bar" aria-label="Main">${items.map(
		(i) => html`<a key=${i.name} class="bar-item" href=${i.to} aria-current=${here(i.name)}>
			<span class="bar-icon"><${Icon} name=${i.icon} size=${22} />${i.name === 'runs' && n > 0 && waitLabel(n)}</span><span>${i.label}</span></a>`,
	)}</nav>`
}

/** The head of a phone's screens but for a run's. */
function TopBar() {
	return html`<header class="top-bar"><a class="brand" href=${href.runs()} aria-label="Agent Sandbox, runs"><${Mark} size=${24} /><span>Agent Sandbox</span></a>
		<${ConnectionChip} />
		<${Menu} label="More" items=${[
			{ label: 'Find a run or a command', icon: 'search', action: openPalette },
			{ label: `Theme: ${THEMES[theme.value][1]}`, icon: THEMES[theme.value][0], action: nextTheme },
			{ label: 'Keys', icon: 'key', href: href.keys() },
			{ label: 'Sign out', icon: 'leave', action: signOut },
		]} /></header>`
}

// --- the connection -------------------------------------------------------------------------------

/** Quiet for 5 s, a chip until 30 s, a banner after. */
function trouble() {
	const c = connection.value
	if (c.state === 'live') return c.slow ? 'slow' : ''
	if (c.state === 'resting') return ''
	if (c.state === 'offline') return 'banner'
	const s = (now.value - c.since) / 1000
	return s < 5 ? '' : s < 30 ? 'chip' : 'banner'
}

const WORD = { connecting: 'Connecting', offline: 'Offline' }
function ConnectionChip() {
	const t = trouble()
	if (connection.value.slow) return html`<span class="connection tone-wait" role="status"><${Icon} name="clock" size=${14} />Slow connection mode</span>`
	if (!t && connection.value.state !== 'live') return html`<span class="connection quiet"><${Icon} name="ring" size=${12} class="tone-quiet" /><span>Connecting</span></span>`
	if (!t) return html`<span class="connection quiet" data-live><${Icon} name="dot" size=${10} class="tone-ok" /><span>Live</span></span>`
	return html`<span class="connection tone-wait" role="status"><${Icon} name="refresh" size=${14} />${WORD[connection.value.state] ?? 'Reconnecting'}</span>`
}

function Banner() {
	if (updateReady.value)
		return html`<div class="banner accent" role="status"><${Icon} name="refresh" /><p>A new version is on the server. What you have typed is kept.</p>
			<${Button} small action=${() => location.reload()}>Load it</${Button}></div>`
	if (trouble() !== 'banner') return null
	const heard = heardAt()
	const when = heard && ago(heard, Math.max(now.value, heard))
	const age = when ? ` What you see is from ${when === 'now' ? 'a moment ago' : when}.` : ''
	if (connection.value.state === 'offline')
		return html`<div class="banner wait" role="status"><${Icon} name="warn" /><p><strong>You are offline.</strong>${age} Nothing will be sent until you are back.</p></div>`
	return html`<div class="banner wait" role="status"><${Icon} name="warn" /><p><strong>The server cannot be reached.</strong>${age} It is tried again and again.</p>
		<${Button} small action=${retryNow}>Try now</${Button}></div>`
}

// --- the session has ended ------------------------------------------------------------------------

function SignInSheet() {
	if (session.value.state !== 'out') return null
	return html`<${Dialog} title="Sign in again" sticky onClose=${() => {}}>
		<p class="lead">Your session has ended. The page is as you left it, and so is what you have typed.</p>
		<${SignInForm} />
	</${Dialog}>`
}

// --- keys -----------------------------------------------------------------------------------------

const sheet = signal(false)

/** The command palette once it has been fetched, and whether it is open. */
const palette = signal({ Palette: null, open: false })
async function openPalette() {
	if (document.querySelector('dialog[open]')) return
	try {
		const { Palette } = palette.peek().Palette ? palette.peek() : await import('./palette.js')
		palette.value = { Palette, open: true }
	} catch {
		toast('The server cannot be reached: there is no palette just now.')
	}
}
const ACTS = () => [
	{ label: 'New run', icon: 'plus', hint: 'c', action: () => navigate(href.new()) },
	{ label: 'Go to runs', icon: 'runs', hint: 'g r', action: () => navigate(href.runs()) },
	{ label: 'Go to machines', icon: 'machines', hint: 'g m', action: () => navigate(href.machines()) },
	{ label: 'Go to keys', icon: 'key', hint: 'g k', action: () => navigate(href.keys()) },
	{ label: 'Go to help', icon: 'help', action: () => navigate(href.help()) },
	...Object.entries(THEMES).map(([key, [icon, word]]) => ({ label: `Theme: ${word.toLowerCase()}`, icon, action: () => setTheme(key) })),
	{ label: 'Keyboard shortcuts', icon: 'keyboard', hint: '?', action: () => (sheet.value = true) },
	{ label: 'Sign out', icon: 'leave', action: signOut },
]
export const keysOn = signal(read('keys') !== 'off')
export function setKeys(on) {
	keysOn.value = on
	try {
		localStorage.setItem('keys', on ? 'on' : 'off')
	} catch {
		// then for this page only
	}
}
export const SHORTCUTS = [
	['j', 'k', 'Next and previous run'],
	['Enter', '', 'Open the run'],
	['c', '', 'New run'],
	['/', '', 'Search'],
	['g r', '', 'Go to runs'],
	['g m', '', 'Go to machines'],
	['Ctrl K', '', 'Find a run or a command (⌘ K on a Mac)'],
	['g k', '', 'Go to keys'],
	['?', '', 'This list'],
	['Ctrl Enter', '', 'Send what you have typed (⌘ Enter on a Mac)'],
	['Esc', '', 'Close the top layer; nothing typed is lost'],
]

/** Whether a key pressed there is text. */
export const isTyping = (el) => !!el?.closest?.('input, textarea, select, [contenteditable]')

let chord = 0
function onKey(e) {
	// not a single key: it is taken in a field too
	if (e.key === 'k' && (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && !e.defaultPrevented) {
		e.preventDefault()
		return void openPalette()
	}
	if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !keysOn.peek() || isTyping(e.target)) return
	if (document.querySelector('dialog[open]')) return
	const second = chord && Date.now() - chord < 1200
	chord = 0
	if (second && e.key === 'r') navigate(href.runs())
	else if (second && e.key === 'm') navigate(href.machines())
	else if (second && e.key === 'k') navigate(href.keys())
	else if (e.key === 'g') chord = Date.now()
	else if (e.key === 'c') navigate(href.new())
	else if (e.key === '?') sheet.value = true
	else if (e.key === '/') {
		const field = document.querySelector('[data-search]')
		if (!field) return
		field.focus()
	} else return
	e.preventDefault()
}

export const ShortcutTable = () =>
	html`<table class="shortcuts"><caption class="sr-only">Keyboard shortcuts</caption><thead class="sr-only"><tr><th>Key</th><th>What it does</th></tr></thead><tbody>${SHORTCUTS.map(
		([a, b, what]) => html`<tr key=${what}><td>${a.split(' ').map((k) => html`<kbd>${k}</kbd> `)}${b && html`<kbd>${b}</kbd>`}</td><td>${what}</td></tr>`,
	)}</tbody></table>`

export const KeysSwitch = () =>
	html`<label class="switch"><input type="checkbox" checked=${keysOn.value} onChange=${(e) => setKeys(e.currentTarget.checked)} /><span>Single-key shortcuts</span></label>`

/**
 * What has the focus may go: a row that is removed, a button that has done its work. Then the nearest of what stood around
 * it and is still there has it, and who goes by keys is not sent to the top of the page. No field, which would bring up a
 * phone's keyboard.
 */
function keepFocus() {
	let around = []
	const note = (e) => {
		around = []
		for (let el = e.target; el; el = el.parentElement) around.push(el)
	}
	const seen = new MutationObserver(() => {
		if (!around.length || around[0].isConnected || document.activeElement !== document.body) return
		const left = around.find((el) => el.isConnected)
		around = []
		const can = 'a[href], button, [tabindex]'
		const to = left.matches(can) ? left : (left.querySelector(can) ?? document.getElementById('main'))
		to?.focus({ preventScroll: true })
	})
	document.addEventListener('focusin', note)
	seen.observe(document.body, { childList: true, subtree: true })
	return () => {
		document.removeEventListener('focusin', note)
		seen.disconnect()
	}
}

// --- all of it ------------------------------------------------------------------------------------

/** The title says how many wait, whoever set it; so does the badge of the installed app. */
effect(() => {
	const n = waiting.value.length
	if (session.value.state !== 'in' && !fleet.value.at) return
	const title = visible(oneLine(pageTitle.value, 80))
	document.title = `${n ? `(${n}) ` : ''}${title ? `${title} · ` : ''}Agent Sandbox`
	if (navigator.setAppBadge) (n ? navigator.setAppBadge(n) : navigator.clearAppBadge()).catch(() => {})
})

/** Read out once: a question that has come, a run that has changed its state. */
let told = null
function tell() {
	const states = new Map()
	for (const r of fleet.value.runs.values()) states.set(r.session, `${r.state} ${r.question?.id ?? ''}`)
	if (told && fleet.value.at) {
		const ended = []
		for (const r of fleet.value.runs.values()) {
			const was = told.get(r.session)
			if (was === undefined || was === states.get(r.session)) continue
			const title = visible(oneLine(r.title, 80))
			if (r.state === 'waiting' && r.question && was !== states.get(r.session)) announce(`Needs you: the run “${title}” asks: ${visible(oneLine(r.question.text, 300))}`, 'assertive')
			else if (!was.startsWith(`${r.state} `)) ended.push(`“${title}”: ${STATES[stateKey(r)]?.word ?? r.state}`)
		}
		if (ended.length) announce(ended.length > 3 ? plural(ended.length, 'run has changed', 'runs have changed') : ended.join('. '))
	}
	if (fleet.value.at) told = states
}

export function Frame({ children }) {
	useEffect(() => effect(tell), [])
	useEffect(keepFocus, [])
	useEffect(() => {
		document.addEventListener('keydown', onKey)
		return () => document.removeEventListener('keydown', onKey)
	}, [])
	const inRun = route.value.name === 'run'
	// what the sheet would not show is not made
	const phone = useMedia('(max-width: 599.9px)')
	return html`<div class=${`frame ${inRun ? 'in-run' : ''}`}>
		<a class="skip" href="#main">Skip to content</a>
		${phone ? !inRun && html`<${TopBar} />` : html`<${Rail} />`}
		<div class="content"><${Banner} />${children}</div>
		${phone && !inRun && html`<${BottomBar} />`}
		<${SignInSheet} />
		${
			sheet.value &&
			html`<${Dialog} title="Keyboard shortcuts" onClose=${() => (sheet.value = false)}><${ShortcutTable} /><${KeysSwitch} /></${Dialog}>`
		}
		${palette.value.open && html`<${palette.value.Palette} own=${ACTS()} onClose=${() => (palette.value = { ...palette.peek(), open: false })} />`}
		<${Toasts} />
	</div>`
}
