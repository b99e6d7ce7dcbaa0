/*
 * llist.h - a lock-free singly linked list: anyone pushes, whoever takes takes everything.
 *
 *   pusher                                   taker
 *   first = head->first                      xchg(&head->first, NULL)
 *   node->next = first                       the chain is now its own: no other CPU can reach it
 *   cmpxchg(&head->first, first -> node)
 *
 * Why it needs no lock:
 * - Order. A pusher fills in its node before the cmpxchg, a taker reads nodes after the xchg. Both are
 *   LOCKed instructions and full barriers (arch/atomic.h), so a taker that gets a node sees all
 *   that was written to it before it was pushed, and its pusher may not touch it any more.
 * - ABA. Between a pusher's look at head->first and its cmpxchg, others may take the list, free the
 *   node that was first, and push a node at that same address again. The cmpxchg then succeeds, and
 *   rightly: node->next must be equal to what head->first is *at that moment*, and equal it is. A
 *   pusher never looks into the node it saw. What ABA breaks is taking a single node (its `next`
 *   would be read before the compare), so that does not exist: a taker takes all and compares
 *   nothing.
 * - Interrupts. A push is complete in one instruction. A handler that pushes to the same list before
 *   it makes the interrupted push's cmpxchg fail, and that one goes round again; nobody ever waits
 *   for anybody, so pushing and taking are legal in any context, NMI included.
 *
 * A node is on one list at a time. Chains come out last in, first out. Source: Linux's llist.h.
 */
#pragma once

#include "arch/atomic.h"
#include "kernel/types.h"

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

/* A glance: it may have changed by the next line. */
static inline bool llist_empty(const struct llist_head *head)
{
	return READ_ONCE(head->first) == NULL;
}

/* Push; true if the list was empty: of all who push until the next taking, one is told so. */
static inline bool llist_add(struct llist_node *node, struct llist_head *head)
{
	struct llist_node *first;

	do {
		first = READ_ONCE(head->first);
		node->next = first;
	} while (!cmpxchg_bool(&head->first, first, node));
	return first == NULL;
}

/* Take everything: a chain that ends in NULL and is the caller's alone. */
static inline struct llist_node *llist_del_all(struct llist_head *head)
{
	return xchg(&head->first, (struct llist_node *)NULL);
}

/* Turn a chain that was taken round: first in, first out. */
static inline struct llist_node *llist_reverse_order(struct llist_node *chain)
{
	struct llist_node *reversed = NULL, *next;

	for (; chain; chain = next) {
		next = chain->next;
		chain->next = reversed;
		reversed = chain;
	}
	return reversed;
}

#define llist_entry(ptr, type, member) container_of(ptr, type, member)

/* Over a chain that was taken; node may be freed, or pushed again, in the body. */
#define llist_for_each_safe(node, tmp, chain)                                                      \
	for (node = (chain); node && ((tmp) = node->next, true); node = tmp)
