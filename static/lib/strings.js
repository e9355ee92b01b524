/* Words that stand in more than one place. States of a run, reasons for its end, and the names of things. */

/** glyph and word of each state, in the order of rank; `means` is the legend's line. */
export const STATES = {
	waiting: { word: 'Needs you', icon: 'pause', tone: 'wait', means: 'The agent has stopped at a question and cannot go on until it is answered.' },
	failed: { word: 'Failed', icon: 'cross', tone: 'danger', means: 'The agent or its machine ended with an error. The reason is on the run.' },
	lost: { word: 'Lost', icon: 'cross', tone: 'danger', means: 'The host went away under it. What was written until then is kept.' },
	running: { word: 'Working', icon: 'dot', tone: 'run', means: 'The agent is at work in its machine.' },
	starting: { word: 'Starting', icon: 'ring', tone: 'run', means: 'A machine is being made, or waits for a free place.' },
	done: { word: 'Done', icon: 'check', tone: 'ok', means: 'The agent has finished. Trace, log, patch and files are kept.' },
	stopped: { word: 'Stopped', icon: 'circle', tone: 'quiet', means: 'A person ended it.' },
	gone: { word: 'Torn down', icon: 'gone', tone: 'quiet', means: 'A person ended it and its machine is destroyed. What it had written is kept.' },
}

/** Why a run or a box ended, in words. */
export const REASONS = {
	ok: 'finished',
	agent_error: 'the agent ended with an error',
	oom: 'out of memory',
	guest_panic: 'the guest kernel panicked',
	timeout: 'it took too long',
	max_duration: 'it reached the longest time a run may take',
	operator: 'ended by a person',
	protocol: 'the box said something that is not allowed',
	agent_lost: 'the agent is gone',
	box_lost: 'the machine is gone',
	worker_lost: 'the worker is gone',
	host_reboot: 'the host was started anew',
	policy: 'refused by policy',
	tree: 'the working tree could not be put in place',
	provision: 'the machine could not be made',
	expired: 'it reached its greatest age',
}
export const reasonWords = (reason) => REASONS[reason] ?? reason ?? ''

export const ISOLATION = {
	'hardware-vm': { word: 'Hardware VM', means: 'A virtual machine on the processor’s own virtualization (KVM).' },
	'emulated-vm': { word: 'Emulated VM', means: 'A virtual machine whose processor is emulated in software: slower, and the emulator is the border, not the hardware.' },
	container: { word: 'Container', means: 'A container on the host’s kernel: weaker borders than a virtual machine.' },
	process: { word: 'Process', means: 'No border at all. Test builds only.' },
}
export const isolationWords = (i) => ISOLATION[i]?.word ?? i ?? '—'

export const CLASSES = { s: 'Small', m: 'Medium', l: 'Large' }

export const UNKNOWN = '—'
