/*
 * A client asks to be connected (OAuth): who it says it is, where the answer goes, what it may do then. What it calls
 * itself is its own word and stands in quotes; where the answer goes is what counts. The query goes to the server as
 * it came, which checks it again when it is answered.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { get, post } from '../lib/api.js'
import { href } from '../lib/router.js'
import { oneLine, visible } from '../lib/text.js'
import { Button, ButtonLink, Icon, InlineError, Notice, Skeleton, useTitle } from '../lib/ui.js'
import { SCOPES } from './scopes.js'

const CAN = {
	'run:read': 'See your runs, logs, files and diffs',
	'run:write': 'Start runs and sandboxes, answer their questions, stop and tear them down',
}

/** Where the answer goes, in words. */
const where = (c) => (c.loopback ? `a program on this computer (${c.redirect_host})` : /^https:/.test(c.redirect_uri) ? c.redirect_host : `the program on this device that opens ${c.redirect_host}: links`)

function Request({ request, of }) {
	const [state, setState] = useState({ busy: '', error: null })
	const answer = async (allow) => {
		setState({ busy: allow ? 'allow' : 'deny', error: null })
		try {
			const { redirect } = await post('/consent.json', { request, allow }, { key: '' })
			location.assign(redirect)
		} catch (error) {
			setState({ busy: '', error })
		}
	}
	const name = visible(oneLine(of.title, 100))
	return html`<section class="card connect" aria-labelledby="connect-title">
		<h1 id="connect-title">Connect <q>${name}</q>?</h1>
		<p>A program that calls itself <q>${name}</q> wants to use this site for you.</p>
		<dl class="connect-facts">
			<div><dt>The answer goes to</dt><dd><strong data-host>${visible(where(of))}</strong></dd></div>
			<div><dt>${of.document ? 'It is described at' : 'It registered itself as'}</dt><dd class="mono">${visible(of.client_id)}</dd></div>
			<div><dt>It could then</dt><dd><ul class="connect-can">${of.scopes.map((s) => html`<li key=${s}><${Icon} name="check" size=${16} />${CAN[s] ?? SCOPES[s]?.means ?? s}</li>`)}</ul></dd></div>
			<div><dt>It could not</dt><dd>Make keys, or see the operator’s token or any secret.</dd></div>
		</dl>
		<${Notice} tone="wait" icon="warn"><p>Allow it only if you have just started this yourself. Anybody can choose a name.</p></${Notice}>
		${state.error && html`<${InlineError} error=${state.error} title="Your answer was not taken" />`}
		<div class="connect-acts">
			<${Button} kind="plain" busy=${state.busy === 'deny'} action=${() => answer(false)}>Do not allow</${Button}>
			<${Button} kind="primary" busy=${state.busy === 'allow'} busyText="Connecting…" action=${() => answer(true)}>Allow</${Button}>
		</div>
		<p class="fine">You can disconnect it at any time under <a href=${href.keys()}>Keys</a>.</p>
	</section>`
}

export function ConnectScreen() {
	useTitle('Connect a client')
	const [request] = useState(() => location.search.slice(1))
	const [state, setState] = useState({ of: null, error: null })
	const load = () =>
		get('/connect.json', { request }).then(
			(of) => setState({ of, error: null }),
			(error) => setState({ of: null, error }),
		)
	useEffect(() => void load(), [])
	return html`<main class="page narrow" id="main" tabindex="-1">
		${
			state.error
				? html`<h1>Not connected</h1><${InlineError} error=${state.error} title="This request cannot be answered"><p>Nothing was allowed. Start again from the program that sent you here.</p></${InlineError}>
					<p><${ButtonLink} href=${href.runs()}>Go to runs</${ButtonLink}></p>`
				: state.of
					? html`<${Request} request=${request} of=${state.of} />`
					: html`<h1 class="sr-only">Connect a client</h1><${Skeleton} rows=${3} />`
		}
	</main>`
}
