import assert from 'node:assert/strict'
import { test } from 'node:test'
import { find } from '../../../build/modules/lib/palette.js'

const items = [
	{ label: 'Fix the parser', text: 'acme/parser run-a' },
	{ label: 'New run' },
	{ label: 'Explain the queue', text: 'why the parser waits' },
]
const names = (q) => find(items, q).map((i) => i.label)

test('every word counts, wherever it stands; a name is before the rest', () => {
	assert.deepEqual(names('parser'), ['Fix the parser', 'Explain the queue'])
	assert.deepEqual(names('QUEUE parser'), ['Explain the queue'])
	assert.deepEqual(names('run'), ['New run', 'Fix the parser'])
	assert.deepEqual(names('  '), items.map((i) => i.label))
	assert.deepEqual(names('nothing of it'), [])
})
