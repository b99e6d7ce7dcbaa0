/*
 * slots.h - a growing table of things that are known by an id outside.
 *
 * An id holds a slot and a serial number, so that an id used after its end is refused, even if its
 * slot is in use again. An empty table costs nothing; a full one doubles.
 */
#ifndef USER_FS_SLOTS_H
#define USER_FS_SLOTS_H

#include <stdint.h>

struct slot {
	uint64_t id; /* 0: free */
	void *thing;
};

struct slots {
	struct slot *table;
	uint32_t capacity;
	uint32_t free_from; /* no slot below this one is free */
	uint64_t serial;
};

/* The thing's new id, below 2^56; 0: no memory. */
uint64_t slots_add(struct slots *s, void *thing);

/* NULL: no such id. */
void *slots_get(const struct slots *s, uint64_t id);

/* The id ends; it must be a good one. */
void slots_remove(struct slots *s, uint64_t id);

#endif
