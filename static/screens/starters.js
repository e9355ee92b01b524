/* Tasks to begin with: complete, and safe to start as they are. */
export const STARTERS = [
	{
		id: 'look',
		title: 'Look around in a fresh machine',
		what: 'Which kernel, which tools, what the network is.',
		agent: 'script',
		task: `# What kind of machine is this?
uname -a
echo "--- $(nproc) processors, $(free -m | awk '/^Mem/ {print $2}') MiB of memory"
df -h /workspace | tail -n 1
echo "--- tools"
for t in git python3 node gcc make curl; do command -v "$t" || echo "no $t"; done
`,
	},
	{
		id: 'ask',
		title: 'See how a question works',
		what: 'The script stops at a question and goes on with your answer.',
		agent: 'script',
		task: `# asb-ask stops everything until somebody answers.
echo "I am about to write a greeting."
name=$(asb-ask "Whom shall I greet?")
echo "Hello, $name!" | tee /workspace/greeting.txt
`,
	},
	{
		id: 'file',
		title: 'Make a file to download',
		what: 'A report in /artifacts that stays after the machine is gone.',
		agent: 'script',
		task: `# What lies in /artifacts is kept.
{ echo "# Report"; date; echo; df -h; } >/artifacts/report.md
cat /artifacts/report.md
`,
	},
]
