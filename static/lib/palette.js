/*
 * The command palette: every run by its words, every place and every act by its name, from the keyboard. What needs a
 * person is first, as everywhere. Fetched when it is opened for the first time.
 */
import { html, useEffect, useId, useRef, useState } from './html.js'
import { href, navigate } from './router.js'
import { recent, stateKey, waiting, working } from './store.js'
import { STATES } from './strings.js'
import { oneLine, visible } from './text.js'
import { commands, Dialog, Foreign, Icon } from './ui.js'

const RUNS = 40

const runItem = (r) => ({
	key: r.session,
	icon: STATES[stateKey(r)]?.icon ?? 'circle',
	tone: STATES[stateKey(r)]?.tone,
	label: oneLine(r.title ?? r.session, 160),
	hint: STATES[stateKey(r)]?.word ?? '',
	foreign: true,
	text: `${r.title ?? ''} ${r.session} ${(r.repos ?? []).map((x) => x.repo).join(' ')} ${r.task ?? ''}`,
	action: () => navigate(href.run(r.session)),
})

/**
 * What the words find: each of them stands somewhere in an item. What stands in its name is before what stands only in
 * the rest of it.
 * @param {{label: string, text?: string}[]} items @param {string} query
 */
export function find(items, query) {
	const words = query.toLowerCase().split(/\s+/).filter(Boolean)
	const has = (text) => words.every((w) => text.toLowerCase().includes(w))
	const named = items.filter((i) => has(i.label))
	return [...named, ...items.filter((i) => !named.includes(i) && has(`${i.label} ${i.text ?? ''}`))]
}

/** @param {{own: any[], onClose: () => void}} p own: the shell's acts, {label, icon, action, hint} */
export function Palette({ own, onClose }) {
	const [query, setQuery] = useState('')
	const [at, setAt] = useState(0)
	const list = useRef(null)
	const id = useId()
	const acts = [...commands.value, ...own].map((c) => ({ key: c.label, ...c }))
	const needs = waiting.value.map(runItem)
	const rest = [...working.value, ...recent.value].map(runItem)
	// without words: what needs somebody, then what can be done, then the newest runs
	const found = query.trim() ? find([...needs, ...acts, ...rest], query) : [...needs, ...acts, ...rest.slice(0, 8)]
	const shown = found.slice(0, RUNS)
	const chosen = Math.min(at, shown.length - 1)
	useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [chosen, query])
	const go = (item) => {
		onClose()
		item?.action()
	}
	const key = (e) => {
		const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: query ? undefined : 0, End: query ? undefined : shown.length - 1 }[e.key]
		if (to !== undefined) setAt((to + shown.length) % Math.max(1, shown.length))
		else if (e.key === 'Enter' && !e.isComposing) go(shown[chosen])
		else return
		e.preventDefault()
	}
	return html`<${Dialog} title="Find a run or a command" onClose=${onClose} class="palette">
		<div class="search"><${Icon} name="search" size=${18} /><input class="input" type="search" data-autofocus role="combobox" aria-expanded="true" aria-autocomplete="list"
			aria-controls=${id} aria-activedescendant=${shown.length ? `${id}-${chosen}` : undefined} aria-label="Find a run or a command" autocomplete="off" spellcheck="false"
			placeholder="Runs, places, commands" value=${query} onInput=${(e) => (setQuery(e.currentTarget.value), setAt(0))} onKeyDown=${key} /></div>
		<ul class="palette-list" role="listbox" id=${id} ref=${list} aria-label="What was found">${shown.map(
			(item, i) => html`<li key=${item.key} id=${`${id}-${i}`} role="option" aria-selected=${i === chosen ? 'true' : 'false'} class=${`palette-item ${item.danger ? 'danger' : ''}`}
				onPointerMove=${() => i !== chosen && setAt(i)} onClick=${() => go(item)}>
				<${Icon} name=${item.icon ?? 'arrow'} size=${18} class=${item.tone ? `tone-${item.tone}` : ''} />
				<span class="palette-label">${item.foreign ? html`<${Foreign} text=${item.label} />` : item.label}</span>
				${item.hint && html`<span class=${`palette-hint${item.foreign ? '' : ' is-key'}`}>${item.hint}</span>`}</li>`,
		)}</ul>
		${!shown.length && html`<p class="fine" role="status">Nothing is called “${visible(query)}”.</p>`}
	</${Dialog}>`
}
