# The screens: static/ with the libraries of static/vendor.list; build/modules as it lies, build/static in fewer files.
STATIC := build/static/VERSION
$(STATIC): $(shell find static -type f) deploy/static deploy/icons deploy/join deploy/npm-fetch
	$(Q)deploy/static static build/modules build/static
all: $(STATIC)
static: $(STATIC) ## what nginx serves

ui: all ## T=name: the screens in a browser, on a site of their own (MODE=debug)
	$(Q)tests/ui/run '$(T)'

lighthouse: ## what Lighthouse says of landing, sign-in, runs and a run
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=debug all
	$(Q)tests/ui/lighthouse

firefox webkit: ## the screens in another engine, firefox-esr or WebKitGTK (smoke)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=debug all
	$(Q)tests/ui/smoke $@
.PHONY: static ui lighthouse firefox webkit
