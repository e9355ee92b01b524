docs: $(B)/bin/asb-web $(B)/bin/asb ## print docs/api.md, config.md, cli.md and asb.1 from their tables
	$(Q)$(B)/bin/asb-web --print-api >docs/api.md
	$(Q)$(B)/bin/asb-web --print-config >docs/config.md
	$(Q)$(B)/bin/asb --print-docs >docs/cli.md
	$(Q)$(B)/bin/asb --print-man >docs/asb.1
.PHONY: docs
# starts the program itself
$(B)/tests/integration/test_web: | $(B)/bin/asb-web
# make fuzz F=input: needs two libraries, unlike what is fuzzed of the box
FUZZ_INPUT_SRC := $(addprefix lib/base/,json.c json_scan.c field.c redact.c encode.c err.c pool.c buf.c text.c)
build/fuzz/fuzz_input: tests/fuzz/fuzz_input.c $(FUZZ_INPUT_SRC)
	$(Q)mkdir -p $(@D) && clang $(FUZZ_CFLAGS) $(PKG_CFLAGS) -o $@ $< $(FUZZ_INPUT_SRC) -ljson-c -lsodium && \
		echo "  FUZZ $@"
openapi: $(B)/bin/asb-web ## hold the OpenAPI document against a validator of npm's
	$(Q)MODE=$(MODE) tests/openapi/run
.PHONY: openapi
