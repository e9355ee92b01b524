# The development site: see deploy/stack.
JOBS ?= $(shell nproc)
release = $(Q)deploy/setup && $(MAKE) --no-print-directory -j$(JOBS) MODE=release all

demo: ## a task on this tree in a real box, start to end (CI=1: by itself, leaves nothing; AGENT=claude: needs ANTHROPIC_API_KEY)
	$(release)
	$(Q)CI='$(CI)' AGENT='$(AGENT)' deploy/demo

run: ## start the site and leave it up
	$(release)
	$(Q)deploy/stack up && deploy/stack status
	$(Q)echo 'in a browser, once, within 10 minutes:' && deploy/stack signin
	$(Q)echo 'in this shell, for asb: eval "$$(deploy/stack env)"; for a coding agent: asb config --format claude'

stop: ## stop the site; its state stays
	$(Q)deploy/stack down

destroy: ## stop the site and remove its state
	$(Q)deploy/stack destroy

.PHONY: demo run stop destroy
