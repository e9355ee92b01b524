# Attacks with their controls, on real boxes of a test build: see docs/security.md.
attack: ## T="ID...": what must not succeed, each with its positive control, a line for each
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=debug all attack-bins
	$(Q)MODE=debug tests/support/run-attack '$(T)'
attack-bins: $(call test_bins,attack) $(B)/tests/integration/template
.PHONY: attack attack-bins
