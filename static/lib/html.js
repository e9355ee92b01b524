/* The one door to the libraries: components are written with `html` and read signals by `.value`. */
import { Component, Fragment, h, render } from '../vendor/preact.js'
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from '../vendor/hooks.js'
import { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from '../vendor/signals.js'
import htm from '../vendor/htm.js'

export const html = htm.bind(h)
export { Component, Fragment, h, render }
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState }
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect }
