/*
 * What was typed and not sent, kept on this device until it is. A draft has a name (a run and a lane, or "new");
 * secrets never go here. Signing out drops all.
 */
const PREFIX = 'draft:'
const MAX = 300_000

const storage = () => {
	try {
		return globalThis.localStorage ?? null
	} catch {
		return null
	}
}

/** @param {string} name */
export function draftGet(name) {
	return storage()?.getItem(PREFIX + name) ?? ''
}

/** Keeps it; an empty one is dropped. @param {string} name @param {string} text */
export function draftSet(name, text) {
	const s = storage()
	if (!s) return
	try {
		if (text) s.setItem(PREFIX + name, text.slice(0, MAX))
		else s.removeItem(PREFIX + name)
	} catch {
		// no room, or not allowed here: what is in the field is still in the field
	}
}

/** @param {string} name */
export const draftDrop = (name) => draftSet(name, '')

/** The names of what is kept. */
export function draftNames() {
	const s = storage()
	return s ? Object.keys(s).filter((k) => k.startsWith(PREFIX)).map((k) => k.slice(PREFIX.length)) : []
}

export const draftDropAll = () => draftNames().forEach(draftDrop)
