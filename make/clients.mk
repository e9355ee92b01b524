clients: ## real MCP clients (Claude Code, Codex, Gemini, opencode, mcporter, Inspector) on a site of their own; C=name
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=debug all
	$(Q)MODE=debug tests/clients/run $(C)
.PHONY: clients
