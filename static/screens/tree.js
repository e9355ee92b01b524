/* A working tree from this computer: chosen or dropped, a tar or a gzipped one, which is unpacked here. */
import { html, useRef, useState } from '../lib/html.js'
import { visible } from '../lib/text.js'
import { bytes } from '../lib/time.js'
import { Button, Icon, IconButton } from '../lib/ui.js'

/** The plain tar that the site takes. @param {File} file @returns {Promise<Blob>} */
export async function tarOf(file) {
	if (!/\.(tgz|gz)$/i.test(file.name)) return file
	return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).blob()
}

/** @param {{file: File|null, onFile: (f: File|null) => void, error?: string, progress: {done: number, total: number}|null, max?: number}} p */
export function TreeDrop({ file, onFile, error, progress, max }) {
	const [over, setOver] = useState(false)
	const input = useRef(null)
	const drag = (on) => (e) => {
		if (![...(e.dataTransfer?.types ?? [])].includes('Files')) return
		e.preventDefault()
		setOver(on)
	}
	const drop = (e) => {
		e.preventDefault()
		setOver(false)
		if (e.dataTransfer.files.length) onFile(e.dataTransfer.files[0])
	}
	return html`<div class="field" id="f-upload">
		<div class=${`drop ${over ? 'over' : ''} ${error ? 'bad' : ''}`} onDragEnter=${drag(true)} onDragOver=${drag(true)} onDragLeave=${drag(false)} onDrop=${drop}>
			<input ref=${input} type="file" tabindex="-1" aria-hidden="true" accept=".tar,.tgz,.gz,application/x-tar,application/gzip" onChange=${(e) => e.currentTarget.files.length && onFile(e.currentTarget.files[0])} />
			${
				file
					? html`<div class="drop-file"><${Icon} name="file" size=${24} /><div><p>${visible(file.name)}</p><span class="fine num">${bytes(file.size)}</span></div>
						${!progress && html`<${IconButton} icon="close" label="Take another file" action=${() => onFile(null)} />`}</div>
						${progress && html`<progress aria-label="Sent" max=${progress.total || 1} value=${progress.done} />`}`
					: html`<${Icon} name="upload" size=${24} /><p>Drop a .tar or .tar.gz here, or choose one.</p>
						<${Button} small action=${() => input.current.click()} data-field="upload" aria-describedby=${error ? 'upload-error' : undefined}>Choose a file</${Button}>
						<p class="fine">${max ? `At most ${bytes(max)}. ` : ''}<code>tar -cf tree.tar .</code> makes one.</p>`
			}
		</div>
		${error && html`<p class="field-error" id="upload-error"><${Icon} name="warn" size=${16} /><span>${error}</span></p>`}
	</div>`
}
