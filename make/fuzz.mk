# libFuzzer: make fuzz F=wire S=60. Crashes and the corpus it found stay under build/fuzz.
F ?= wire
S ?= 60
# all of it is C that needs no library, so that clang builds it in seconds
FUZZ_SRC := $(WIRE_SRC) workers/box/boxd/boxjson.c $(BOX_BASE)
# but for the readers of test runners' output, which know json-c
build/fuzz/fuzz_checks: FUZZ_MORE = $(wildcard lib/model/checks*.c) lib/base/json.c lib/base/json_scan.c \
	lib/base/json_bounded.c -Ilib/model $(shell pkg-config --cflags --libs json-c)
# and for what reads MCP messages, which knows libsodium as well
build/fuzz/fuzz_mcp: FUZZ_MORE = cgi/mcp_request.c cgi/mcp_result.c cgi/mcp_text.c cgi/mcp_text_run.c cgi/mcp_text_box.c \
	cgi/request.c cgi/response.c $(addprefix lib/base/,json.c json_scan.c json_bounded.c encode.c) -Icgi -Ilib/model \
	$(shell pkg-config --cflags --libs json-c libsodium)
FUZZ_CFLAGS := -std=gnu17 -D_GNU_SOURCE -Ilib/base -Iworkers/box -Iworkers/box/boxd \
	-include lib/base/banned.h -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_SRC)
	$(Q)mkdir -p $(@D) && clang $(FUZZ_CFLAGS) -o $@ $< $(FUZZ_SRC) $(FUZZ_MORE) && echo "  FUZZ $@"
fuzz: build/fuzz/fuzz_$(F) ## F=wire, tar, input, checks or mcp, S=seconds: fuzz one target
	$(Q)mkdir -p build/fuzz/$(F) && build/fuzz/fuzz_$(F) -max_total_time=$(S) -max_len=16384 \
		-rss_limit_mb=2000 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=build/fuzz/$(F)- build/fuzz/$(F) $(wildcard tests/fuzz/corpus/$(F))
.PHONY: fuzz
