# Tests against a private PostgreSQL. Those that need none run in the same way. Tests whose boxes are
# plain processes (rig.h, shimrig.h) want the `process` runtime, which only test builds have; what a
# release build does with real boxes is tests/e2e's.
INTEGRATION := $(call test_bins,integration)
ifeq ($(MODE),release)
INTEGRATION := $(filter-out $(patsubst %.c,$(B)/%,$(shell grep -lE '"(shim)?rig\.h"' tests/integration/*.c)),$(INTEGRATION))
endif
# those that wait longest begin first, so that none is waited for alone at the end
LONGEST := $(filter $(addprefix %/test_,worker agent run live worker_sandbox boxd_question),$(INTEGRATION))
# these hold an answer to a bar in milliseconds, which would be missed beside others
TIMED := $(filter $(addprefix %/test_,live_waits logs screens),$(INTEGRATION))
integration: $(BIN) $(BOXBIN) $(INTEGRATION) $(B)/tests/integration/template ## tests with a private PostgreSQL
	$(Q)TEST_JOBS=$(TEST_JOBS) TEST_TIMEOUT=900 TEST_TIMEOUT_ALL=2400 tests/support/with-postgres \
		-t $(B)/tests/integration/template tests/support/run-tests $(LONGEST) \
		$(filter-out $(LONGEST) $(TIMED),$(INTEGRATION)) -- $(TIMED)
.PHONY: integration
