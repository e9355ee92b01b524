/* What the window is like, for what is made only where there is room for it; looks alone are the sheets'. */
import { useEffect, useRef, useState } from './html.js'

/** Whether a media query holds; drawn again when that changes. @param {string} query */
export function useMedia(query) {
	const list = useRef(null)
	list.current ??= matchMedia(query)
	const [holds, set] = useState(list.current.matches)
	useEffect(() => {
		const change = (e) => set(e.matches)
		list.current.addEventListener('change', change)
		return () => list.current.removeEventListener('change', change)
	}, [])
	return holds
}
