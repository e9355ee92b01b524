# The authorization server under the official MCP conformance suite: see docs/access.md.
conformance-authorization: ## the official suite's checks of our authorization server, behind our nginx
	$(Q)$(MAKE) --no-print-directory $(B)/bin/asb-web $(B)/tests/integration/template
	$(Q)MODE=$(MODE) tests/conformance/authorization
.PHONY: conformance-authorization
