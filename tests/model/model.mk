# model.mk - the kernel's own sources in all orders, and under ThreadSanitizer (docs/11-model.md).
#
#   make test-model                  scenarios, mutants, threads; a part of make test
#   make model S="lazy_return" B=3   one scenario, up to 3 preemptions, with its figures
#   make model M=lazy-without-fence  a mutant's counterexample

S ?=
B ?=
M ?=

# A release build: neither sync points nor the sanitizer's hooks, which have nothing to say here.
MODEL_CFLAGS := -std=gnu11 -g -DGATHER_RELEASE -fno-pic -Wall -Wextra $(if $(WERROR),-Werror) -Itests/model/include \
	-Itests/host/include -Itests/model -I.
# The sanitizer's hooks before every access; its library is not linked (tests/model/hooks.c).
MODEL_HOOKED := -O1 -fsanitize=thread -Wno-tsan $(MODEL_CFLAGS)
MODEL_KERNEL := mm/tlb mm/tlb_batch mm/rmap kernel/lock
MODEL_SCENARIOS := $(addprefix tests/model/,llist shootdown batch)
MODEL_ENGINE := $(addprefix tests/model/,main explore trace memory hooks machine kernel)
MODEL_OBJ := $(patsubst %,build/model/obj/%.o,$(MODEL_KERNEL) $(MODEL_SCENARIOS) $(MODEL_ENGINE))
# Here the library is linked, and it wants position-independent code.
THREADS_CFLAGS := -Itests/model/tsan $(filter-out -fno-pic,$(MODEL_HOOKED))
THREADS_SOURCES := mm/tlb.c mm/tlb_batch.c kernel/lock.c tests/model/threads.c tests/model/kernel.c

# What tests/model/mutants.py compiles with.
MODEL_ENV := CC="$(HOST_CC)" CFLAGS="$(MODEL_HOOKED)" HOOKED="$(MODEL_KERNEL) $(MODEL_SCENARIOS)" \
	THREADS_CFLAGS="$(THREADS_CFLAGS)" THREADS_SOURCES="$(THREADS_SOURCES)"

$(MODEL_OBJ): build/model/obj/%.o: %.c tests/model/model.mk | build/.setup-test
	@mkdir -p $(@D)
	@$(HOST_CC) $(if $(filter $*,$(MODEL_ENGINE)),-O2 $(MODEL_CFLAGS),$(MODEL_HOOKED)) -MMD -MP \
		-c -o $@ $<

build/model/model: $(MODEL_OBJ)
	@echo "  HOST $@"
	@$(HOST_CC) -no-pie -o $@ $^

build/model/threads: $(THREADS_SOURCES) tests/model/model.mk | build/.setup-test
	@mkdir -p $(@D)
	@echo "  HOST $@"
	@$(HOST_CC) $(THREADS_CFLAGS) -MMD -MP -MF $@.d -o $@ $(THREADS_SOURCES) -lpthread

.PHONY: model-tests test-model model
model-tests: build/model/model build/model/threads

test-model: model-tests
	@$(MODEL_ENV) $(PYTHON) tests/run.py --model

model: build/model/model
	@$(if $(M),$(MODEL_ENV) $(PYTHON) tests/model/mutants.py $(M),build/model/model $(if $(B),-b $(B)) $(S))

-include $(MODEL_OBJ:.o=.d) build/model/threads.d
