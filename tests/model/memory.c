/*
 * memory.c - x86's memory order: store buffers, and which words matter.
 *
 * A store enters the CPU's store buffer, first in, first out (Intel SDM vol. 3, 9.2: total store
 * order). Memory always shows what the *running* CPU sees, its own buffered stores included; they
 * are taken out while another CPU runs. So loads need no hook that supplies a value: GCC's code
 * reads memory itself. A buffer is emptied by a LOCKed instruction, MFENCE, an interrupt, IRET, a
 * CR write or INVLPG (vol. 3, 11.10). Otherwise the time at which a store gets out matters only to
 * CPUs that read that word: it is a choice at each such read.
 *
 * Only words that several CPUs use and one writes are looked at. Which these are is learnt:
 * interleavings are explored again until no new one has turned up.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define MAX_STORES 64
#define NR_WORDS   4096
#define MAX_READS  16

/* ---- Which words are shared ------------------------------------------------------------------ */

static struct word {
	u64 key; /* address / 8; 0: free */
	u8 users, writers;
	bool shared, found;
} words[NR_WORDS];
static bool found_more;
static unsigned nr_shared;

static struct word *word_at(u64 key)
{
	u64 slot = key * 0x9e3779b97f4a7c15UL >> 52;

	while (words[slot].key != key) {
		if (!words[slot].key) {
			words[slot].key = key;
			break;
		}
		slot = (slot + 1) % NR_WORDS;
	}
	return &words[slot];
}

static bool use_word(u64 key, bool write)
{
	struct word *word = word_at(key);

	word->users |= 1 << model_cpu();
	if (write)
		word->writers |= 1 << model_cpu();
	if (!word->found && word->writers && (word->users & (word->users - 1)))
		word->found = found_more = true;
	return word->shared;
}

bool memory_use(const void *address, size_t size, bool write)
{
	u64 key, last = ((u64)address + size - 1) / 8;
	bool shared = false;

	for (key = (u64)address / 8; key <= last; key++)
		shared |= use_word(key, write);
	return shared;
}

bool memory_learn(void)
{
	bool more = found_more;
	unsigned i;

	found_more = false;
	for (i = 0, nr_shared = 0; i < NR_WORDS; i++) {
		words[i].shared = words[i].found;
		nr_shared += words[i].found;
	}
	return more;
}

unsigned memory_shared(void)
{
	return nr_shared;
}

/* ---- Store buffers --------------------------------------------------------------------------- */

struct store {
	char *address;
	size_t size;
	u64 value, under; /* under: what memory would show without this store, while it is in sight */
};

static struct buffer {
	struct store stores[MAX_STORES];
	unsigned nr;
	/* A store that the code is about to make: its value is there to read at the next hook. */
	char *coming;
	size_t coming_size;
	u64 before[8];
} buffers[MODEL_CPUS];

/*
 * A CPU that spins only reads; another round is the same again until somebody changes one of the
 * words it has read. Without this, waiting would multiply the interleavings.
 */
static struct reads {
	u64 keys[MAX_READS];
	unsigned nr;
} reads[MODEL_CPUS];

void memory_note_read(const void *address)
{
	struct reads *own = &reads[model_cpu()];

	if (own->nr < MAX_READS)
		own->keys[own->nr++] = (u64)address / 8;
	else
		model_cpus[model_cpu()].awake = true; /* too much to remember: no spin loop */
}

static bool has_read(const struct reads *by, u64 key)
{
	unsigned i;

	for (i = 0; i < by->nr; i++)
		if (by->keys[i] == key)
			return true;
	return false;
}

/* All can see a change of this word. */
void memory_note_change(const void *address)
{
	unsigned i;

	for (i = 0; i < MODEL_CPUS; i++)
		if (has_read(&reads[i], (u64)address / 8))
			model_cpus[i].awake = true;
}

void memory_forget_reads(void)
{
	reads[model_cpu()].nr = 0;
}

void memory_reset(void)
{
	unsigned i;

	memset(reads, 0, sizeof(reads));
	for (i = 0; i < MODEL_CPUS; i++) {
		buffers[i].nr = 0;
		buffers[i].coming = NULL;
	}
}

static void hide(struct buffer *buffer)
{
	unsigned i;

	for (i = buffer->nr; i-- > 0;)
		memcpy(buffer->stores[i].address, &buffer->stores[i].under, buffer->stores[i].size);
}

static void show(struct buffer *buffer)
{
	struct store *store;

	for (store = buffer->stores; store < buffer->stores + buffer->nr; store++) {
		memcpy(&store->under, store->address, store->size);
		memcpy(store->address, &store->value, store->size);
	}
}

static void forget_first(struct buffer *buffer, unsigned n)
{
	unsigned i;

	if (!n)
		return;
	for (i = 0; i < n; i++)
		memory_note_change(buffer->stores[i].address);
	memmove(buffer->stores, buffer->stores + n, (buffer->nr - n) * sizeof(buffer->stores[0]));
	buffer->nr -= n;
}

/* The first n stores of a CPU that does not run are seen by all. */
static void drain(struct buffer *buffer, unsigned n)
{
	struct buffer *own = &buffers[model_cpu()];
	unsigned i;

	hide(own);
	for (i = 0; i < n; i++)
		memcpy(buffer->stores[i].address, &buffer->stores[i].value, buffer->stores[i].size);
	forget_first(buffer, n);
	show(own);
}

static void push(struct buffer *buffer, char *address, const void *before, size_t size)
{
	struct store *store = &buffer->stores[buffer->nr++];

	*store = (struct store){.address = address, .size = size};
	memcpy(&store->value, address, size);
	memcpy(&store->under, before, size);
	if (buffer->nr == MAX_STORES)
		forget_first(buffer, MAX_STORES / 2);
}

/* The store announced at the last hook has been made. Words are the unit in which it is seen. */
void memory_finish_store(void)
{
	struct buffer *buffer = &buffers[model_cpu()];
	char *from = buffer->coming, *end = from + buffer->coming_size, *to;

	if (!from)
		return;
	buffer->coming = NULL;
	for (; from < end; from = to) {
		to = MIN((char *)(((u64)from | 7) + 1), end);
		push(buffer, from, (char *)buffer->before + (from - (end - buffer->coming_size)),
		     (size_t)(to - from));
	}
}

void memory_announce(char *address, size_t size)
{
	struct buffer *buffer = &buffers[model_cpu()];

	if (size > sizeof(buffer->before))
		abort();
	buffer->coming = address;
	buffer->coming_size = size;
	memcpy(buffer->before, address, size);
}

void memory_leave(void)
{
	memory_finish_store();
	hide(&buffers[model_cpu()]);
}

void memory_enter(void)
{
	show(&buffers[model_cpu()]);
}

void memory_fence(void)
{
	memory_finish_store();
	forget_first(&buffers[model_cpu()], buffers[model_cpu()].nr);
}

void memory_drain_others(void)
{
	unsigned i;

	memory_finish_store();
	for (i = 0; i < MODEL_CPUS; i++)
		if (i != model_cpu())
			drain(&buffers[i], buffers[i].nr);
}

void memory_drain_all(void)
{
	memory_drain_others();
	memory_fence();
}

/* Another CPU's stores to this range: all are out (tried first), or only so many. */
void memory_choose_drains(const char *address, size_t size)
{
	unsigned i, k, n, upto[MAX_STORES + 1];

	for (i = 0; i < MODEL_CPUS; i++) {
		if (i == model_cpu())
			continue;
		upto[0] = 0;
		for (n = 0, k = 0; k < buffers[i].nr; k++)
			if (buffers[i].stores[k].address < address + size &&
			    address < buffers[i].stores[k].address + buffers[i].stores[k].size)
				upto[++n] = k + 1;
		k = choose(n + 1);
		if (k)
			note("cpu%lu's store is still in its buffer", i);
		drain(&buffers[i], upto[n - k]);
	}
}
