/* Help: what the words and the states mean, and the keys. And the page for addresses that are none. */
import { html } from '../lib/html.js'
import { href } from '../lib/router.js'
import { KeysSwitch, ShortcutTable } from '../lib/shell.js'
import { STATES } from '../lib/strings.js'
import { ButtonLink, EmptyState, StateStamp, useTitle } from '../lib/ui.js'

const WORDS = [
	['Run', 'A task that was handed to an agent, with all that came of it: trace, log, patch, files, cost. Runs stay.'],
	['Machine', 'The box a run works in: a virtual machine of its own that is destroyed afterwards. Also called box.'],
	['Agent', 'The program that does the task in the machine, such as a coding agent or a plain shell script.'],
	['Turn', 'One stretch of an agent’s work: from the task or an answer to its end or the next question.'],
	['Question', 'The agent asks with asb-ask and is stopped in the middle of what it does. Everything in its lane is frozen until somebody answers.'],
	['Trace', 'What the agent said and which tools it used, row by row.'],
	['Log', 'Every byte that the agent’s processes have written, by line.'],
	['Patch', 'The difference between the tree as it was given and as the agent left it.'],
	['Tear down', 'Ends a run and destroys its machine. The patch and the files are saved first.'],
]

export function HelpScreen() {
	useTitle('Help')
	return html`<main class="page help" id="main" tabindex="-1">
		<header class="page-head"><h1>Help</h1></header>
		<section class="card" aria-labelledby="h-states"><h2 id="h-states">States of a run</h2>
			<dl class="legend">${Object.entries(STATES).map(([key, s]) => html`<div key=${key}><dt><${StateStamp} state=${key} /></dt><dd>${s.means}</dd></div>`)}</dl></section>
		<section class="card" aria-labelledby="h-words"><h2 id="h-words">Words</h2>
			<dl class="glossary">${WORDS.map(([w, m]) => html`<div key=${w}><dt>${w}</dt><dd>${m}</dd></div>`)}</dl></section>
		<section class="card" aria-labelledby="h-keys"><h2 id="h-keys">Keyboard</h2><${ShortcutTable} /><${KeysSwitch} /></section>
	</main>`
}

export function MissingScreen() {
	useTitle('Not found')
	return html`<main class="page" id="main" tabindex="-1"><h1 class="sr-only">Not found</h1>
		<${EmptyState} icon="search" title="There is nothing here" action=${html`<${ButtonLink} kind="primary" href=${href.runs()}>Go to runs</${ButtonLink}>`}>
			<p>The address is wrong, or what it was of is not yours.</p></${EmptyState}></main>`
}
