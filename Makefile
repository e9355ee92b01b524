# Agent Sandbox: one non-recursive makefile. `make help` lists the targets.
# Sources are found by folder, so that a new file needs no edit here; tables are the registry.
MODE ?= debug
# `make bench B=clone` names a benchmark; everywhere else B is the build folder
BENCH := $(if $(filter command line environment,$(origin B)),$(B))
override B := build/$(MODE)
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
WERROR ?= -Werror
CC := gcc
PKGS := libpq json-c libcurl libsodium libarchive libseccomp
# expanded when a compiler needs them, so that `make deps` works before pkg-config is there
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LIBS = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lfcgi

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wvla -Wundef -Wwrite-strings -Wpointer-arith \
	-Wformat=2 -Wcast-qual -Wimplicit-fallthrough -Wnull-dereference \
	-Wduplicated-cond -Wlogical-op -Wdate-time -Wno-missing-field-initializers $(WERROR)
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fno-common \
	-fno-strict-overflow -fno-delete-null-pointer-checks -fno-strict-aliasing
MODE_debug := -O1 -g3 -DASB_TEST
MODE_asan := -O1 -g3 -DASB_TEST -fsanitize=address,undefined -fno-sanitize-recover=all
MODE_analyze := -O1 -g -fanalyzer -DASB_ANALYZE
MODE_release := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero
ifeq ($(MODE_$(MODE)),)
$(error MODE is one of debug, asan, analyze, release)
endif
BASE_CFLAGS := -std=gnu17 -D_GNU_SOURCE -Ilib/base -Ilib/model -Iworkers -Iworkers/box -Icgi -Icli \
	-I$(B)/gen -include lib/base/banned.h $(WARN) $(HARDEN)
CFLAGS = $(BASE_CFLAGS) -fPIE $(MODE_$(MODE)) $(PKG_CFLAGS)
LDFLAGS := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(filter -fsanitize%,$(MODE_$(MODE)))

src = $(wildcard $(1)/*.c)
objs = $(patsubst %.c,$(B)/%.o,$(1))
BASE_SRC := $(call src,lib/base)
MODEL_SRC := $(call src,lib/model)
# what both ends of a box's stream share, and the box's own end
WIRE_SRC := $(call src,workers/box)
BOXD_SRC := $(call src,workers/box/boxd)
rest = $(filter-out $(1)/main_%.c,$(call src,$(1)))
CGI_SRC := $(call rest,cgi)
WORKERS_SRC := $(call rest,workers)
CLI_SRC := $(call rest,cli)

PROGRAMS := $(patsubst cgi/main_%.c,asb-%,$(wildcard cgi/main_*.c)) \
	$(patsubst workers/main_%.c,asb-%,$(wildcard workers/main_*.c)) \
	$(patsubst cli/main_%.c,%,$(wildcard cli/main_*.c))
BIN := $(addprefix $(B)/bin/,$(PROGRAMS))
# in-box programs: always the static release build, whatever MODE is
BOXBIN := $(if $(wildcard workers/box/boxd/main_boxd.c),$(addprefix build/box/,asb-boxd asb-ask asb-hook))

.DEFAULT_GOAL := all
all: $(BIN) $(BOXBIN) ## build every program in MODE (debug, asan, analyze, release)

LIBBASE := $(B)/libbase.a
LIBMODEL := $(B)/libmodel.a
LIBWIRE := $(B)/libwire.a
$(LIBBASE): $(call objs,$(BASE_SRC))
$(LIBMODEL): $(call objs,$(MODEL_SRC))
$(LIBWIRE): $(call objs,$(WIRE_SRC))
$(B)/libcgi.a: $(call objs,$(CGI_SRC))
$(B)/libworkers.a: $(call objs,$(WORKERS_SRC))
$(B)/libcli.a: $(call objs,$(CLI_SRC))
$(B)/%.a:
	$(Q)rm -f $@ && ar rcs $@ $^

link = $(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $< $(1) $(LIBMODEL) $(LIBWIRE) $(LIBBASE) $(LIBS) && echo "  LINK $(notdir $@)"
COMMON := $(LIBMODEL) $(LIBWIRE) $(LIBBASE)
$(B)/bin/asb-%: $(B)/cgi/main_%.o $(B)/libcgi.a $(COMMON)
	$(call link,$(B)/libcgi.a)
$(B)/bin/asb-%: $(B)/workers/main_%.o $(B)/libworkers.a $(COMMON)
	$(call link,$(B)/libworkers.a)
$(B)/bin/asb: $(B)/cli/main_asb.o $(B)/libcli.a $(COMMON)
	$(call link,$(B)/libcli.a)

$(B)/%.o: %.c
	$(Q)mkdir -p $(@D) && echo "  CC   $<" && $(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# --- generated -----------------------------------------------------------------------------------
GEN := $(B)/gen/queries.h
QUERIES := $(sort $(wildcard sql/migrations/*.sql)) $(sort $(wildcard sql/queries/*.sql))
# the folders: a file that is gone, or has another name, is a change too
$(B)/gen/queries.h: sql/sql2c.awk $(QUERIES) sql/migrations sql/queries
	$(Q)mkdir -p $(@D) && awk -f sql/sql2c.awk $(QUERIES) >$@.tmp && mv $@.tmp $@
$(call objs,$(BASE_SRC) $(MODEL_SRC) $(CGI_SRC) $(WORKERS_SRC) $(CLI_SRC)): | $(GEN)
$(patsubst %.c,$(B)/%.o,$(wildcard */main_*.c)): | $(GEN)

# --- in the box ----------------------------------------------------------------------------------
BOX_CFLAGS = $(BASE_CFLAGS) -O2 -g -fPIE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero
# the few base files that are static and need no library
BOX_BASE := $(addprefix lib/base/,err.c pool.c buf.c text.c random.c loop.c)
box_objs = $(patsubst %.c,build/box/o/%.o,$(1))
build/box/o/%.o: %.c
	$(Q)mkdir -p $(@D) && echo "  BOX  $<" && $(CC) $(BOX_CFLAGS) -MMD -MP -c -o $@ $<
build/box/asb-boxd: $(call box_objs,$(filter-out %/main_ask.c,$(BOXD_SRC)) $(WIRE_SRC) $(BOX_BASE))
	$(Q)$(CC) -static-pie -Wl,-z,relro,-z,now,-z,noexecstack -o $@ $^ && strip $@ && echo "  LINK asb-boxd"
build/box/asb-ask: $(call box_objs,workers/box/boxd/main_ask.c)
build/box/asb-hook: $(call box_objs,workers/box/hooks/main_hook.c)
build/box/asb-ask build/box/asb-hook:
	$(Q)$(CC) -static-pie -Wl,-z,relro,-z,now,-z,noexecstack -o $@ $^ && strip $@ && echo "  LINK $(notdir $@)"

# --- tests ---------------------------------------------------------------------------------------
test_bins = $(patsubst %.c,$(B)/%,$(wildcard tests/$(1)/test_*.c))
BOXD_LIB := $(B)/libboxd.a
$(BOXD_LIB): $(call objs,$(filter-out %/main_boxd.c %/main_ask.c,$(BOXD_SRC)))
TEST_SUPPORT := $(call objs,$(call src,tests/support))
$(B)/libtestsupport.a: $(TEST_SUPPORT)
TEST_LIBS := $(B)/libcgi.a $(B)/libworkers.a $(B)/libcli.a $(BOXD_LIB) $(B)/libtestsupport.a
$(TEST_SUPPORT): CFLAGS += -Itests/support -Iworkers/box/boxd
$(B)/tests/%.o: CFLAGS += -Itests/support -Iworkers/box/boxd
$(B)/tests/%.o: | $(GEN)
$(B)/tests/%: $(B)/tests/%.o $(TEST_LIBS) $(COMMON)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< -Wl,--start-group $(TEST_LIBS) $(COMMON) -Wl,--end-group $(LIBS) -lcmocka && echo "  LINK $(notdir $@)"
.PRECIOUS: $(B)/%.o $(B)/tests/%
# TESTS="e2e fault": the test programs of these folders alone
TESTS ?= unit integration e2e fault attack bench
test-bins: $(foreach d,$(TESTS),$(call test_bins,$(d))) $(B)/tests/integration/template

# how many test programs run at a time: they wait more than they compute
TEST_JOBS ?= $(shell echo $$(($$(nproc) + 1)))
unit: $(call test_bins,unit) ## unit tests: no network, no clock, no database
	$(Q)TEST_JOBS=$(TEST_JOBS) tests/support/run-tests $(call test_bins,unit)

-include make/*.mk

lint: ## formatting, compiler analysis, clang-tidy, cppcheck, shellcheck, file sizes
	$(Q)tests/support/lint

format: ## lay the C out again
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

clean: ## remove build/
	$(Q)rm -rf build

help: ## this list
	$(Q)grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/	/' | expand -t 16

.PHONY: all unit lint format clean help test-bins
-include $(shell find build -name '*.d' 2>/dev/null)
