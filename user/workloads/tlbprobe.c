/*
 * tlbprobe.c - what this machine's TLB does with stale entries, beside what others do.
 *
 * The experiments are the kernel's (tests/kernel/tlbprobe.c); the story is in docs/12-x86-tlb.md.
 * Exit status 1 when an answer contradicts the architecture: a stale entry that survives its flush,
 * a store through an entry that hardware would not have used.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "user/lib/args.h"
#include "user/lib/gather.h"

struct experiment {
	const char *name, *text;
	enum probe_answer hardware, qemu, bochs;
};

static const struct experiment experiments[] = {
#define X(name, kernel, text, hardware, qemu, bochs) {#name, text, hardware, qemu, bochs},
	TLB_PROBES(X)
#undef X
};

static const char *const answers[] = {"old", "new", "fault", "either"};

/* An emulator's TLB may always know less than it could: then the page table speaks. */
static bool allowed(int answer, const struct experiment *e)
{
	return answer == (int)e->hardware || e->hardware == PROBE_EITHER ||
	       (e->hardware == PROBE_OLD && answer != PROBE_OLD);
}

int main(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i, wrong = 0;

	if (page == MAP_FAILED) {
		fprintf(stderr, "tlbprobe: no memory: %s\n", strerror(errno));
		return EXIT_BROKEN;
	}
	printf("The translation in the TLB (old) or that of the page table (new)?\n\n");
	printf("%-52s %-8s %-8s %-8s %s\n", "", "here", "hardware", "QEMU", "Bochs");
	for (i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++) {
		const struct experiment *e = &experiments[i];
		int answer = gather_tlbprobe(i, page);

		if (answer < 0) {
			fprintf(stderr, "tlbprobe: %s: %s\n", e->name, strerror(errno));
			return EXIT_BROKEN;
		}
		wrong += !allowed(answer, e);
		printf("%-52s %-8s %-8s %-8s %s%s\n", e->text, answers[answer],
		       answers[e->hardware], answers[e->qemu], answers[e->bochs],
		       allowed(answer, e) ? "" : "   not allowed");
	}
	printf("\n");
	for (i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++)
		printf("RESULT exp=tlbprobe name=%s answer=%s hardware=%s\n", experiments[i].name,
		       answers[gather_tlbprobe(i, page)], answers[experiments[i].hardware]);
	return wrong ? EXIT_BAD_DATA : EXIT_VERIFIED;
}
