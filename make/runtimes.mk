# What every runtime must do, beyond `make test T=runtimes`: docker by a daemon of its own, the real msb's command line.
runtimes: ## RUNTIME=qemu, podman, docker or msb: the one test body on each runtime that this host can have
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=release all build/release/tests/e2e/test_runtimes build/release/tests/integration/template
	$(Q)MODE=release tests/support/run-runtimes '$(RUNTIME)'
.PHONY: runtimes
