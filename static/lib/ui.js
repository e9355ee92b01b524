/*
 * The parts that screens are made of. Native elements under all of them: button, dialog, details, input. None knows
 * a screen or a request.
 */
import { h, html, signal, useEffect, useId, useLayoutEffect, useRef, useState } from './html.js'
import { ICONS } from './icons.js'
import { STATES } from './strings.js'
import { isPlain, sentence, visible, visibleParts } from './text.js'
import { absolute, ago, now, parse } from './time.js'

/** @param {{name: string, size?: number, class?: string}} p */
export function Icon({ name, size = 20, class: c = '' }) {
	const [viewBox, ...paths] = ICONS[name]
	return h('svg', { class: `icon ${c}`, width: size, height: size, viewBox, 'aria-hidden': 'true' }, ...paths.map((p) => h('path', p)))
}

export const Mark = ({ size = 24 }) => html`<${Icon} name="mark" size=${size} class="mark" />`

/** Text of an agent, a repository or a box, with hidden characters shown. @param {{text: string}} p */
export const Foreign = ({ text }) =>
	isPlain(text ?? '')
		? text
		: visibleParts(text).map((p) =>
				typeof p === 'string' ? p : html`<span class="escape" title="A character that cannot be seen">${p.escape}</span>`,
			)

// --- state ----------------------------------------------------------------------------------------

/** Glyph, word and colour of a state. @param {{state: string, quiet?: boolean}} p */
export function StateStamp({ state }) {
	const s = STATES[state] ?? { word: visible(String(state)), icon: 'circle', tone: 'quiet' }
	return html`<span class=${`stamp tone-${s.tone}`} data-state=${state}><${Icon} name=${s.icon} size=${14} /><span>${s.word}</span></span>`
}

/** Age of a moment; the moment itself on hover, and in the element. @param {{at: string|null, prefix?: string}} p */
export function TimeAgo({ at, prefix = '' }) {
	const ms = parse(at)
	if (ms === null) return html`<span>—</span>`
	return html`<time datetime=${at} title=${absolute(ms)}>${prefix}${ago(ms, Math.max(now.value, ms))}</time>`
}

// --- buttons --------------------------------------------------------------------------------------

/**
 * A button that does something that takes a while: it is busy until `action` has ended, and cannot be pressed twice.
 * kind: primary, plain, quiet, danger, wait. busyText stands in it meanwhile.
 */
export function Button({ kind = 'plain', icon, action, busyText, children, class: c = '', type = 'button', busy: outer, small, ...rest }) {
	const [own, setOwn] = useState(false)
	const alive = useRef(true)
	useEffect(() => () => (alive.current = false), [])
	const busy = own || outer
	const press = async (e) => {
		if (busy) return e.preventDefault()
		const r = action?.(e)
		if (!r?.then) return
		setOwn(true)
		try {
			await r
		} finally {
			if (alive.current) setOwn(false)
		}
	}
	return html`<button type=${type} class=${`button ${kind} ${small ? 'small' : ''} ${c}`} aria-busy=${busy ? 'true' : undefined}
		aria-disabled=${busy ? 'true' : undefined} onClick=${press} ...${rest}>
		${busy ? html`<span class="spinner" aria-hidden="true" />` : icon && html`<${Icon} name=${icon} size=${18} />`}
		<span>${busy && busyText ? busyText : children}</span>
	</button>`
}

/** A link that looks like a button. */
export const ButtonLink = ({ kind = 'plain', icon, href, children, class: c = '', small, ...rest }) =>
	html`<a class=${`button ${kind} ${small ? 'small' : ''} ${c}`} href=${href} ...${rest}>${icon && html`<${Icon} name=${icon} size=${18} />`}<span>${children}</span></a>`

/** A square button with an icon and a name that is read out and shown on hover. */
export const IconButton = ({ icon, label, action, class: c = '', size = 20, ...rest }) =>
	html`<button type="button" class=${`icon-button ${c}`} aria-label=${label} title=${label} onClick=${action} ...${rest}><${Icon} name=${icon} size=${size} /></button>`

/** Copies `text` (or what a function gives) and says so; where the clipboard is refused it says that. */
export function CopyButton({ text, label = 'Copy', small = true, iconOnly = false }) {
	const [state, setState] = useState('')
	const timer = useRef(0)
	useEffect(() => () => clearTimeout(timer.current), [])
	const copy = async () => {
		let ok = true
		try {
			await navigator.clipboard.writeText(typeof text === 'function' ? await text() : text)
		} catch {
			ok = false
		}
		setState(ok ? 'Copied' : 'Not allowed here')
		announce(ok ? 'Copied' : 'The browser does not allow copying here')
		clearTimeout(timer.current)
		timer.current = setTimeout(() => setState(''), 2000)
	}
	if (iconOnly)
		return html`<${IconButton} icon=${state === 'Copied' ? 'check' : 'copy'} label=${state || label} action=${copy} size=${18} class="copy" />`
	return html`<button type="button" class=${`button quiet copy ${small ? 'small' : ''}`} onClick=${copy}>
		<${Icon} name=${state === 'Copied' ? 'check' : 'copy'} size=${16} /><span>${state || label}</span></button>`
}

export const Chip = ({ pressed, children, count, ...rest }) =>
	html`<button type="button" class="chip" aria-pressed=${pressed ? 'true' : 'false'} ...${rest}><span>${children}</span>${
		count !== undefined && html`<span class="chip-count">${count}</span>`
	}</button>`

// --- fields ---------------------------------------------------------------------------------------

/**
 * A field with its label, hint and error. `children` is a function that gets {id, 'aria-describedby', 'aria-invalid'}
 * for the control.
 */
export function Field({ label, hint, error, optional, children, class: c = '' }) {
	const id = useId()
	const by = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined
	return html`<div class=${`field ${error ? 'bad' : ''} ${c}`}>
		<label for=${id}>${label}${optional && html`<span class="optional"> optional</span>`}</label>
		${children({ id, 'aria-describedby': by, 'aria-invalid': error ? 'true' : undefined })}
		${error && html`<p class="field-error" id=${`${id}-error`}><${Icon} name="warn" size=${16} /><span>${error}</span></p>`}
		${hint && html`<p class="field-hint" id=${`${id}-hint`}>${hint}</p>`}
	</div>`
}

/**
 * A textarea that grows with its text up to maxHeight px. Enter is a new line; onSubmit is Cmd/Ctrl+Enter, and never
 * while an input method composes.
 */
export function TextArea({ value, onInput, onSubmit, maxHeight = 480, inputRef, ...rest }) {
	const own = useRef(null)
	const ref = inputRef ?? own
	const fitted = useRef(false)
	useLayoutEffect(() => {
		const fit = () => {
			const el = ref.current
			el.style.height = 'auto'
			el.style.height = `${Math.min(el.scrollHeight + 2, maxHeight)}px`
			el.style.overflowY = el.scrollHeight + 2 > maxHeight ? 'auto' : 'hidden'
		}
		if (fitted.current) return fit()
		// empty it is as high as its rows; a text that is there at first is measured when the page is laid out anyway
		if (!value) return
		fitted.current = true
		const frame = requestAnimationFrame(fit)
		return () => cancelAnimationFrame(frame)
	}, [value, maxHeight])
	const key = (e) => {
		if (e.key === 'Enter' && (e.metaKey || e.ctrlKey) && !e.isComposing && e.keyCode !== 229) {
			e.preventDefault()
			onSubmit?.()
		}
	}
	return html`<textarea ref=${ref} class="input" value=${value} onInput=${(e) => onInput(e.currentTarget.value)} onKeyDown=${key} ...${rest} />`
}

/** An error as people need it: what happened, what to do, the id to ask about. @param {{error: any, retry?: () => any}} p */
export const InlineError = ({ error, title, retry, children }) =>
	html`<div class="notice danger" role="alert">
		<${Icon} name="warn" />
		<div class="notice-text">
			<p><strong>${title ?? sentence(error.message)}</strong></p>
			${title && error && html`<p>${sentence(error.message)}</p>`}
			${error?.fix && html`<p>${sentence(error.fix)}</p>`}
			${children}
			${error?.requestId && html`<p class="fine notice-id">Request <code>${error.requestId}</code><${CopyButton} text=${error.requestId} label="Copy the request’s id" iconOnly /></p>`}
		</div>
		${retry && html`<${Button} small action=${retry} icon="refresh">Try again</${Button}>`}
	</div>`

/** @param {{tone?: string, icon?: string, children: any, action?: any}} p */
export const Notice = ({ tone = 'quiet', icon = 'info', children, action, ...rest }) =>
	html`<div class=${`notice ${tone}`} ...${rest}><${Icon} name=${icon} /><div class="notice-text">${children}</div>${action}</div>`

// --- empty, loading -------------------------------------------------------------------------------

export const EmptyState = ({ icon = 'box', title, children, action }) =>
	html`<div class="empty"><span class="empty-icon"><${Icon} name=${icon} size=${28} /></span><h2>${title}</h2><div class="empty-text">${children}</div>${action}</div>`

/** Grey lines in the place of what is coming; nothing for the first 300 ms. */
export function Skeleton({ rows = 3, label = 'Loading' }) {
	const [shown, setShown] = useState(false)
	useEffect(() => {
		const t = setTimeout(() => setShown(true), 300)
		return () => clearTimeout(t)
	}, [])
	return html`<div class="skeleton" role="status" aria-label=${label}>
		${shown && Array.from({ length: rows }, (_, i) => html`<div class="skeleton-row" key=${i}><i /><i /><i /></div>`)}
	</div>`
}

// --- layers ---------------------------------------------------------------------------------------

/**
 * A native modal dialog (a sheet from below on a phone). Esc and the close button call onClose; a press beside it
 * does not, so that no half-typed text is lost. Focus goes to [autofocus], else to the first control, and back to
 * where it was. `sticky`: it cannot be closed.
 */
export function Dialog({ title, onClose, children, footer, sticky = false, wide = false, class: c = '' }) {
	const ref = useRef(null)
	const id = useId()
	useLayoutEffect(() => {
		const el = ref.current
		const before = document.activeElement
		el.showModal()
		el.querySelector('[data-autofocus]')?.focus()
		return () => {
			el.close()
			if (before?.isConnected) before.focus()
		}
	}, [])
	const cancel = (e) => {
		e.preventDefault()
		if (!sticky) onClose()
	}
	return html`<dialog ref=${ref} class=${`dialog ${wide ? 'wide' : ''} ${c}`} aria-labelledby=${id} onCancel=${cancel}>
		<header class="dialog-head"><h2 id=${id}>${title}</h2>${!sticky && html`<${IconButton} icon="close" label="Close" action=${onClose} />`}</header>
		<div class="dialog-body">${children}</div>
		${footer && html`<footer class="dialog-foot">${footer}</footer>`}
	</dialog>`
}

/** A menu of actions behind a button: items {label, icon, action | href, danger}. Arrow keys move, Esc closes. */
export function Menu({ label, items, icon = 'more', align = 'end', children }) {
	const [open, setOpen] = useState(false)
	const root = useRef(null)
	const id = useId()
	useEffect(() => {
		if (!open) return
		root.current.querySelector('[role=menuitem]')?.focus()
		const away = (e) => !root.current.contains(e.target) && setOpen(false)
		document.addEventListener('pointerdown', away)
		return () => document.removeEventListener('pointerdown', away)
	}, [open])
	const shut = () => {
		setOpen(false)
		root.current.querySelector('[aria-haspopup]').focus()
	}
	const key = (e) => {
		if (!open) return
		const all = [...root.current.querySelectorAll('[role=menuitem]')]
		const i = all.indexOf(document.activeElement)
		const to = { ArrowDown: i + 1, ArrowUp: i - 1 + all.length, Home: 0, End: all.length - 1 }[e.key]
		if (e.key === 'Escape') {
			e.stopPropagation()
			shut()
		} else if (e.key === 'Tab') setOpen(false)
		else if (to !== undefined) all[to % all.length].focus()
		else return
		if (e.key !== 'Tab') e.preventDefault()
	}
	return html`<div class="menu" ref=${root} onKeyDown=${key}>
		<button type="button" class=${children ? 'button quiet' : 'icon-button'} aria-haspopup="menu" aria-expanded=${open ? 'true' : 'false'}
			aria-controls=${open ? id : undefined} aria-label=${children ? undefined : label} title=${label} onClick=${() => setOpen(!open)}>
			${children ?? html`<${Icon} name=${icon} />`}</button>
		${
			open &&
			html`<div class=${`menu-list ${align}`} role="menu" id=${id} aria-label=${label}>${items.filter(Boolean).map((it) => {
				const body = html`<${Icon} name=${it.icon ?? 'right'} size=${18} /><span>${it.label}</span>`
				const props = { role: 'menuitem', tabIndex: -1, class: `menu-item ${it.danger ? 'danger' : ''}` }
				if (it.href) return html`<a ...${props} href=${it.href} download=${it.download} onClick=${() => setOpen(false)}>${body}</a>`
				const act = () => {
					shut()
					it.action()
				}
				return html`<button type="button" ...${props} onClick=${act}>${body}</button>`
			})}</div>`
		}
	</div>`
}

// --- telling --------------------------------------------------------------------------------------

const toasts = signal([])
const said = signal({ polite: '', assertive: '' })
let toastKey = 0

/**
 * A short word at the foot of the page, never the only place of an error. It goes after `ms`, but not while the
 * pointer or the focus is on it. action: {label, run}.
 */
export function toast(text, { action, ms = 6000, tone = 'quiet' } = {}) {
	const t = { key: ++toastKey, text, action, ms, tone }
	toasts.value = [...toasts.value.slice(-2), t]
	return () => drop(t.key)
}
const drop = (key) => {
	toasts.value = toasts.value.filter((t) => t.key !== key)
}

/** Read out, not shown. Questions are assertive, states are polite. @param {string} text */
export function announce(text, urgency = 'polite') {
	// the same words again are read again only if something changes
	said.value = { ...said.value, [urgency]: said.value[urgency] === text ? `${text} ` : text }
}

function ToastItem({ t }) {
	const held = useRef(false)
	useEffect(() => {
		const timer = setInterval(() => !held.current && drop(t.key), t.ms)
		return () => clearInterval(timer)
	}, [])
	const hold = (v) => () => (held.current = v)
	return html`<div class=${`toast ${t.tone}`} onPointerEnter=${hold(true)} onPointerLeave=${hold(false)} onFocusIn=${hold(true)} onFocusOut=${hold(false)}>
		<span>${t.text}</span>
		${
			t.action &&
			html`<button type="button" class="button quiet small" onClick=${() => {
				drop(t.key)
				t.action.run()
			}}>${t.action.label}</button>`
		}
		<${IconButton} icon="close" label="Dismiss" action=${() => drop(t.key)} size=${16} />
	</div>`
}

/** Once, at the root of the page. */
export const Toasts = () => html`
	<div class="toasts" role="status">${toasts.value.map((t) => html`<${ToastItem} key=${t.key} t=${t} />`)}</div>
	<div class="sr-only" role="status">${said.value.polite}</div>
	<div class="sr-only" role="alert">${said.value.assertive}</div>`

/** Tabs as links: the address is what is chosen. items {key, label, href, count}. */
export const Tabs = ({ items, current, label }) =>
	html`<nav class="tabs" aria-label=${label}>${items.map(
		(t) => html`<a key=${t.key} class="tab" href=${t.href} data-replace aria-current=${t.key === current ? 'page' : undefined}>
			<span>${t.label}</span>${t.count !== undefined && t.count !== null && html`<span class="tab-count">${t.count}</span>`}</a>`,
	)}</nav>`

/** What the screen that is shown can do, for the command palette: {label, icon, action, hint?, danger?}. */
export const commands = signal([])
export function useCommands(list) {
	const now = useRef(list)
	now.current = list
	const names = list.map((c) => c.label).join()
	useEffect(() => {
		// by name, so that what is done is what the screen would do at that moment
		commands.value = list.map((c, i) => ({ ...c, action: () => now.current[i]?.action() }))
		return () => (commands.value = [])
	}, [names])
}

/** document.title, with how many runs need you in front (the shell adds that). */
export const pageTitle = signal('')
export function useTitle(text) {
	useEffect(() => {
		pageTitle.value = text
	}, [text])
}
