conformance: ## the official MCP conformance suite against asb-web behind nginx; A='--scenario ping': only that
	$(Q)$(MAKE) --no-print-directory $(B)/bin/asb-web $(B)/bin/asb-live $(B)/tests/integration/template
	$(Q)MODE=$(MODE) tests/conformance/run $(A)
.PHONY: conformance
