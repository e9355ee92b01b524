# boxd alone, on a socketpair: no database, no guest. `make integration` runs the same two.
BOXD_TESTS := $(B)/tests/integration/test_boxd $(B)/tests/integration/test_boxd_files
boxd-tests: $(BOXBIN) $(BOXD_TESTS) ## asb-boxd as a plain process, driven frame by frame
	$(Q)tests/support/run-tests $(BOXD_TESTS)
.PHONY: boxd-tests
