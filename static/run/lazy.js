/*
 * A part of the page that is fetched when it is first shown, and is there at once from then on.
 */
import { html, useEffect, useState } from '../lib/html.js'
import { InlineError, Skeleton } from '../lib/ui.js'

/** What has come, by how it is loaded. */
const have = new Map()

/** @param {{load: () => Promise<any>, [key: string]: any}} p load gives the component that gets the other properties */
export function Lazy({ load, ...rest }) {
	const [error, setError] = useState(null)
	const [, again] = useState(0)
	const fetchIt = async () => {
		setError(null)
		try {
			have.set(load, await load())
			again((n) => n + 1)
		} catch {
			setError({ message: 'The server cannot be reached.' })
		}
	}
	useEffect(() => {
		if (!have.has(load)) void fetchIt()
	}, [load])
	const Part = have.get(load)
	if (Part) return html`<${Part} ...${rest} />`
	return html`<div class="pane-scroll"><div class="column">
		${error ? html`<${InlineError} error=${error} title="This part could not be loaded" retry=${fetchIt} />` : html`<${Skeleton} rows=${4} />`}
	</div></div>`
}
