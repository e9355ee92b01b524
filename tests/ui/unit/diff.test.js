import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileHunks, generatedReason, indexPatch } from '../../../build/modules/run/diff.js'
import { markWords, wordChanges } from '../../../build/modules/run/diffwords.js'

const PATCH = `diff --git a/src/a.c b/src/a.c
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/src/a.c
+++ b/src/a.c
@@ -1,4 +1,5 @@ int main(void)
 one
-two old
+two new
+three
 four

@@ -20 +21,0 @@
-last
\\ No newline at end of file
diff --git a/new file.txt b/new file.txt
new file mode 100755
index 0000000000000000000000000000000000000000..3333333333333333333333333333333333333333
--- /dev/null
+++ b/new file.txt
@@ -0,0 +1,2 @@
+diff --git a/fake b/fake
+@@ -1 +1 @@
diff --git a/gone b/gone
deleted file mode 100644
index 4444444444444444444444444444444444444444..0000000000000000000000000000000000000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
--- dashes
diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/x.png b/x.png
new file mode 100644
index 0000000000000000000000000000000000000000..5555555555555555555555555555555555555555
GIT binary patch
literal 4
Lc$@<O00001

literal 0
HcmV?d00001

diff --git "a/t\\303\\244st \\"q\\".txt" "b/t\\303\\244st \\"q\\".txt"
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- "a/t\\303\\244st \\"q\\".txt"
+++ "b/t\\303\\244st \\"q\\".txt"
@@ -1 +1 @@
-a
+b
`

test('files, their counts and what happened to them', () => {
	const { files, added, removed } = indexPatch(PATCH)
	const got = files.map((f) => [f.path, f.status, f.added, f.removed, f.binary])
	assert.deepEqual(got, [
		['src/a.c', 'modified', 2, 2, false],
		['new file.txt', 'added', 2, 0, false],
		['gone', 'deleted', 0, 1, false],
		['new name', 'renamed', 0, 0, false],
		['run.sh', 'modified', 0, 0, false],
		['x.png', 'added', 0, 0, true],
		['täst "q".txt', 'modified', 1, 1, false],
	])
	assert.deepEqual([added, removed], [5, 4])
	assert.equal(files[3].from, 'old name')
	assert.equal(files[3].similarity, 90)
	assert.deepEqual([files[4].oldMode, files[4].newMode], ['100644', '100755'])
	assert.equal(files[1].newMode, '100755')
	assert.equal(files[1].from, null)
})

test('hunks and line numbers', () => {
	const { files } = indexPatch(PATCH)
	const hunks = fileHunks(PATCH, files[0])
	assert.equal(hunks.length, 2)
	assert.equal(hunks[0].section, 'int main(void)')
	assert.deepEqual(
		hunks[0].lines.map((l) => [l.kind, l.old, l.now, l.text]),
		[
			[' ', 1, 1, 'one'],
			['-', 2, 0, 'two old'],
			['+', 0, 2, 'two new'],
			['+', 0, 3, 'three'],
			[' ', 3, 4, 'four'],
			[' ', 4, 5, ''],
		],
	)
	assert.deepEqual(
		hunks[1].lines.map((l) => l.kind),
		['-', '\\'],
	)
	assert.deepEqual(
		fileHunks(PATCH, files[1])[0].lines.map((l) => l.text),
		['diff --git a/fake b/fake', '@@ -1 +1 @@'],
	)
	assert.equal(fileHunks(PATCH, files[2])[0].lines[0].text, '-- dashes')
	assert.deepEqual(fileHunks(PATCH, files[5]), [])
	assert.equal(fileHunks(PATCH, files[6]).length, 1)
})

test('what is no patch has no files', () => {
	for (const text of ['', 'hello\n', '--- a\n+++ b\n']) assert.deepEqual(indexPatch(text).files, [])
	assert.equal(indexPatch('diff --git a/x b/x').files[0].path, 'x')
	assert.equal(indexPatch('From: me\n\ndiff --git a/x b/x\nnew file mode 100644\n').files[0].status, 'added')
})

test('ten thousand files take no time', () => {
	const one = (i) =>
		`diff --git a/f${i} b/f${i}\nnew file mode 100644\n--- /dev/null\n+++ b/f${i}\n@@ -0,0 +1 @@\n+x\n`
	const text = Array.from({ length: 10_000 }, (_, i) => one(i)).join('')
	const start = performance.now()
	const { files, added } = indexPatch(text)
	assert.deepEqual([files.length, added], [10_000, 10_000])
	assert.ok(performance.now() - start < 5000)
})

test('files that no one writes', () => {
	const cases = {
		'package-lock.json': 'lockfile',
		'a/go.sum': 'lockfile',
		'node_modules/x/y.js': 'vendored',
		'a.min.js': 'minified',
		'src/dist.c': '',
		'src/build.c': '',
		'README.md': '',
	}
	for (const [path, want] of Object.entries(cases)) assert.equal(generatedReason(path), want, path)
})

test('the words that changed', () => {
	const cut = (s, ranges) => ranges.map(([a, b]) => s.slice(a, b))
	const [a, b] = wordChanges('return retry(3, now());', 'return retry(5, clock.now());')
	assert.deepEqual(cut('return retry(3, now());', a), ['3'])
	assert.deepEqual(cut('return retry(5, clock.now());', b), ['5', 'clock.'])
	assert.equal(wordChanges('completely different', 'nothing alike here at all'), null)
	assert.equal(wordChanges('x'.repeat(5000), 'y'), null)
})

test('pairs of a block', () => {
	const hunk = fileHunks(PATCH, indexPatch(PATCH).files[0])[0]
	markWords(hunk)
	assert.deepEqual(hunk.lines[1].marks, [[4, 7]])
	assert.deepEqual(hunk.lines[2].marks, [[4, 7]])
	assert.equal(hunk.lines[3].marks, undefined)
})
