# The development site: see deploy/stack.
JOBS ?= $(shell nproc)
release = $(Q)deploy/setup && $(MAKE) --no-print-directory -j$(JOBS) MODE=release all

demo: ## a task on this tree in a real box, start to end (CI=1: answers by itself and leaves nothing)
	$(release)
	$(Q)CI='$(CI)' deploy/demo

run: ## start the site and leave it up
	$(release)
	$(Q)deploy/stack up && deploy/stack status

stop: ## stop the site; its state stays
	$(Q)deploy/stack down

destroy: ## stop the site and remove its state
	$(Q)deploy/stack destroy

.PHONY: demo run stop destroy
