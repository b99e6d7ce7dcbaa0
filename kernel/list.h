/* list.h - circular doubly linked lists, intrusive, with a head that is a node itself. */
#pragma once

#include "kernel/types.h"

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name) {&(name), &(name)}

static inline void list_init(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_insert(struct list_head *node, struct list_head *prev,
			       struct list_head *next)
{
	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

static inline void list_add(struct list_head *node, struct list_head *head)
{
	list_insert(node, head, head->next);
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	list_insert(node, head->prev, head);
}

/* Unlinks node and leaves it empty, so that list_empty(node) tells whether it is on a list. */
static inline void list_del(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

static inline void list_move(struct list_head *node, struct list_head *head)
{
	list_del(node);
	list_add(node, head);
}

static inline void list_move_tail(struct list_head *node, struct list_head *head)
{
	list_del(node);
	list_add_tail(node, head);
}

#define list_entry(ptr, type, member)      container_of(ptr, type, member)
#define list_first(head, type, member)     list_entry((head)->next, type, member)
#define list_last(head, type, member)      list_entry((head)->prev, type, member)
#define list_next(pos, member)             list_entry((pos)->member.next, __typeof__(*(pos)), member)


/* Unlink the first entry; NULL when there is none. */
#define list_pop(head, type, member)                                                               \
	({                                                                                         \
		struct list_head *__first = (head)->next;                                          \
		bool __none = __first == (head);                                                   \
		list_del(__first);                                                                 \
		__none ? NULL : list_entry(__first, type, member);                                 \
	})

#define list_for_each(pos, head, member)                                                           \
	for (pos = list_first(head, __typeof__(*pos), member); &pos->member != (head);             \
	     pos = list_next(pos, member))

/* The same; pos may be unlinked or freed in the body. */
#define list_for_each_safe(pos, tmp, head, member)                                                 \
	for (pos = list_first(head, __typeof__(*pos), member), tmp = list_next(pos, member);       \
	     &pos->member != (head); pos = tmp, tmp = list_next(pos, member))
