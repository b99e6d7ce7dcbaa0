# tests.mk - unit tests on the host, tests of the whole system, and the two together.
#
#   make test                        everything; ends with one line of totals
#   make test-host                   the unit tests and test-model; T=lib: tests/host/test_lib.c alone
#   make test-system                 QEMU; PYTEST_ARGS="-k tour" runs a part
#
# A unit test's first line names the sources it is linked with (`// sources: path path`), and may be
# followed by a line of compiler flags (`// flags: ...`).

HOST_CC ?= gcc
PYTHON ?= /usr/bin/python3
PYTEST_ARGS ?=
T ?= *

HOST_CFLAGS := -std=gnu11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer -Wall -Wextra -Itests/host/include -Itests/host -I. \
	$(if $(WERROR),-Werror)
HOST_TESTS := $(patsubst tests/host/%.c,%,$(wildcard tests/host/test_*.c))

host_sources = tests/host/$(1).c $(shell sed -n '1s|^// sources:||p' tests/host/$(1).c)
host_flags = $(shell sed -n '2s|^// flags:||p' tests/host/$(1).c)
host_objects = $(patsubst %.c,build/host/$(1).obj/%.o,$(call host_sources,$(1)))

# Objects of each test apart: tests may compile one source with different flags.
define host_test
build/host/$(1).obj/%.o: %.c tests/tests.mk tests/host/$(1).c | build/.setup-test
	@mkdir -p $$(@D)
	@$$(HOST_CC) $$(HOST_CFLAGS) $(call host_flags,$(1)) -MMD -MP -c -o $$@ $$<
build/host/$(1): $(call host_objects,$(1))
	@echo "  HOST $$@"
	@$$(HOST_CC) $$(HOST_CFLAGS) -o $$@ $$^ -lcmocka
endef
$(foreach t,$(HOST_TESTS),$(eval $(call host_test,$(t))))

.PHONY: host-tests test-host test-system test
host-tests: $(addprefix build/host/,$(HOST_TESTS))

# All of them: the model too.
WITH_MODEL := $(filter *,$(T))
test-host: $(patsubst tests/host/%.c,build/host/%,$(wildcard tests/host/test_$(T).c)) \
		$(if $(WITH_MODEL),model-tests)
	@$(MODEL_ENV) $(PYTHON) tests/run.py --host '$(T)' $(if $(WITH_MODEL),--model)

test-system: iso user | build/.setup-run build/.setup-test
	@$(PYTHON) tests/run.py --system -- $(PYTEST_ARGS)

test: iso user host-tests model-tests linux-workloads | build/.setup-run build/.setup-test
	@$(MODEL_ENV) $(PYTHON) tests/run.py --host '*' --model --system -- $(PYTEST_ARGS)

include tests/model/model.mk

-include $(shell find build/host -name '*.d' 2>/dev/null)
