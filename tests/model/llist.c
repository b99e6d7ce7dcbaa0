/*
 * llist.c - scenarios for kernel/llist.h: nothing is lost, nothing is doubled, contents are seen.
 */
#include <string.h>

#include "arch/cpu.h"
#include "arch/vectors.h"
#include "drivers/lapic.h"
#include "kernel/llist.h"
#include "machine.h"
#include "model.h"

#define NR_ITEMS 4

static struct item {
	u64 contents;
	struct llist_node node;
} items[NR_ITEMS];
static struct llist_head list;
/* By CPU: who counts a word together with others would make it a shared one. */
static struct {
	unsigned pushed[NR_ITEMS], taken[NR_ITEMS], told_empty, chains;
} __aligned(64) counts[MODEL_CPUS + 1];

static void setup(void)
{
	unsigned i;

	memset(items, 0, sizeof(items));
	memset(counts, 0, sizeof(counts));
	list = (struct llist_head){NULL};
	NAME(list);
	for (i = 0; i < NR_ITEMS; i++)
		name_memory(&items[i], sizeof(items[i]), "item %c", 'A' + i);
}

static void push(unsigned i)
{
	unsigned cpu = model_cpu();

	items[i].contents = i + 100;
	counts[cpu].pushed[i]++;
	if (llist_add(&items[i].node, &list))
		counts[cpu].told_empty++;
}

/* push_again: a bit for each item that goes back at once. */
static void take_as(unsigned cpu, unsigned push_again)
{
	struct llist_node *chain = llist_reverse_order(llist_del_all(&list)), *node, *next;
	unsigned i;

	if (chain)
		counts[cpu].chains++;
	llist_for_each_safe(node, next, chain) {
		struct item *item = llist_entry(node, struct item, node);

		i = (unsigned)(item - items);
		require(item->contents == i + 100, "item %c has no contents", 'A' + i);
		item->contents = 0; /* it is this CPU's now */
		counts[cpu].taken[i]++;
		if (push_again & BIT(i))
			push(i);
	}
}

static void take(void)
{
	take_as(model_cpu(), 0);
}

static void take_and_push_again(void)
{
	take_as(model_cpu(), ~0u);
}

static void take_and_push_b_again(void)
{
	take_as(model_cpu(), BIT(1));
}

static void check_items(void)
{
	unsigned i, cpu, pushed, taken;

	take_as(MODEL_CPUS, 0); /* what is left */
	for (i = 0; i < NR_ITEMS; i++) {
		for (cpu = 0, pushed = taken = 0; cpu <= MODEL_CPUS; cpu++) {
			pushed += counts[cpu].pushed[i];
			taken += counts[cpu].taken[i];
		}
		require(pushed == taken, "item %c was pushed %u times and taken %u times", 'A' + i,
			pushed, taken);
	}
}

static void check(void)
{
	unsigned cpu, told_empty = 0, chains = 0;

	check_items();
	for (cpu = 0; cpu <= MODEL_CPUS; cpu++) {
		told_empty += counts[cpu].told_empty;
		chains += counts[cpu].chains;
	}
	require(told_empty == chains, "%u pushers were told that the list was empty, %u chains",
		told_empty, chains);
}

static void push_ab(void)
{
	push(0);
	push(1);
}

static void push_a(void)
{
	push(0);
}

static void push_b(void)
{
	push(1);
}

static void push_c(void)
{
	push(2);
}

static void push_d(void)
{
	push(3);
}

static void take_twice(void)
{
	take();
	take();
}

/* The handler runs in the middle of a push, on the same CPU. */
static void push_under_interrupts(void)
{
	push_a();
	push_b();
}

static void interrupt_and_take(void)
{
	lapic_send_ipi(0, VEC_TLB);
	take();
}

static void take_and_push_again_then_take(void)
{
	take_and_push_again();
	take();
}

const struct scenario llist_scenarios[] = {
	{"push_push_take", "two CPUs push, a third takes", 4, setup, {push_ab, push_c, take_twice},
	 NULL, check},
	{"push_in_interrupt", "an interrupt handler pushes in the middle of a push", 6, setup,
	 {push_under_interrupts, interrupt_and_take}, push_d, check},
	{"push_again", "a node is taken and pushed again under a pusher that has seen it (ABA)", 4,
	 setup, {push_c, take_and_push_again_then_take, push_ab}, NULL, check_items},
	{"takers", "two takers, one of which keeps A and pushes B again", 5, setup,
	 {push_ab, take_and_push_b_again, take}, NULL, check_items},
	{0},
};
