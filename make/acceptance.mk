# The acceptance list, whole; python alone, without a project, is in `make test` (T=acceptance).
acceptance: ## RUNTIME=qemu LANGUAGE=go: what a sandbox must do, for each runtime and language; without them, images of one's own too
	$(Q)deploy/setup --tests
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=release all
	$(Q)MODE=release RUNTIMES='$(or $(RUNTIME),qemu podman)' LANGUAGES='$(or $(LANGUAGE),python javascript bash go java)' \
		tests/acceptance/suite
	$(Q)$(if $(RUNTIME)$(LANGUAGE),true,MODE=release tests/acceptance/oci)
.PHONY: acceptance
