# Box images and templates, and the tests that boot real guests. Images are cached outside the tree
# (ASB_CACHE_DIR), by key, so that these are no-ops when nothing has changed.
ifeq ($(shell id -u),0)
export ASB_CACHE_DIR ?= /var/cache/agent-sandbox
else
export ASB_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agent-sandbox
endif
IMAGE ?= base
CLASS ?= s

image: $(BOXBIN) ## box image IMAGE=base, and its template of CLASS=s
	$(Q)workers/box/images/build $(IMAGE) $(ASB_CACHE_DIR) build/box >/dev/null
template: image $(B)/bin/asb-image
	$(Q)$(B)/bin/asb-image template $(IMAGE) $(CLASS) >/dev/null

e2e-boot: image template $(B)/tests/e2e/test_boot ## boxd in a real QEMU guest
	$(Q)TEST_TIMEOUT=600 tests/support/run-tests $(B)/tests/e2e/test_boot
e2e-clone: template $(B)/tests/e2e/test_clone ## clones of one template
	$(Q)TEST_TIMEOUT=600 tests/support/run-tests $(B)/tests/e2e/test_clone
.PHONY: image template e2e-boot e2e-clone
