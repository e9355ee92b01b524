# Tests beyond unit and integration: see docs/testing.md.
test: ## everything: own set-up, unit and integration in asan and release, e2e, fault; T=name for one
	$(Q)deploy/setup --tests
	$(Q)tests/support/test-all '$(T)'

e2e: all $(call test_bins,e2e) $(B)/tests/integration/template ## a whole site with real boxes
	$(Q)MODE=$(MODE) tests/support/run-e2e e2e

fault: all $(call test_bins,fault) $(B)/tests/integration/template ## programs killed at the worst moments (MODE=debug or asan: kill-points)
	$(Q)MODE=$(MODE) tests/support/run-e2e fault

bench: ## B=name: one benchmark on a release build; prints `bench NAME key=value ...`
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=release TESTS=bench all test-bins
	$(Q)MODE=release tests/support/bench '$(BENCH)'

.PHONY: test e2e fault bench
