/*
 * Text of a box as a child of an element: characters that would hide or reorder what one reads show as what they
 * are. Most text has none, and stays a string.
 */
import { h } from '../lib/html.js'
import { isPlain } from '../lib/text.js'
import { Foreign } from '../lib/ui.js'

/** @param {string} text */
export const visible = (text) => (!text || isPlain(text) ? text : h(Foreign, { text }))
