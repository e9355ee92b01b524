# boxd alone, on a socketpair: no database, no guest. `make integration` runs the same.
BOXD_TESTS := $(addprefix $(B)/tests/integration/,test_boxd test_boxd_egress test_boxd_end test_boxd_files test_boxd_look \
	test_boxd_question test_boxd_seal test_hook)
boxd-tests: $(BOXBIN) $(BOXD_TESTS) ## asb-boxd as a plain process, driven frame by frame
	$(Q)tests/support/run-tests $(BOXD_TESTS)
.PHONY: boxd-tests
