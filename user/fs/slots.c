/* slots.c - a growing table of things that are known by an id outside. */
#include "user/fs/slots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS  20 /* of an id; the serial number has the 36 bits above them */
#define FIRST_SIZE 64

static struct slot *slot_of(const struct slots *s, uint64_t id)
{
	uint64_t slot = id & ((1u << SLOT_BITS) - 1);

	return id != 0 && slot < s->capacity && s->table[slot].id == id ? &s->table[slot] : NULL;
}

static int grow(struct slots *s)
{
	uint32_t capacity = s->capacity ? s->capacity * 2 : FIRST_SIZE;
	struct slot *table;

	if (capacity > 1u << SLOT_BITS)
		return -1;
	table = realloc(s->table, capacity * sizeof(*table));
	if (!table)
		return -1;
	memset(table + s->capacity, 0, (capacity - s->capacity) * sizeof(*table));
	s->table = table;
	s->capacity = capacity;
	return 0;
}

uint64_t slots_add(struct slots *s, void *thing)
{
	uint32_t slot = s->free_from;

	while (slot < s->capacity && s->table[slot].id != 0)
		slot++;
	s->free_from = slot;
	if (slot == s->capacity && grow(s) != 0)
		return 0;
	s->free_from = slot + 1;
	s->table[slot].id = ++s->serial << SLOT_BITS | slot;
	s->table[slot].thing = thing;
	return s->table[slot].id;
}

void *slots_get(const struct slots *s, uint64_t id)
{
	const struct slot *slot = slot_of(s, id);

	return slot ? slot->thing : NULL;
}

void slots_remove(struct slots *s, uint64_t id)
{
	struct slot *slot = slot_of(s, id);

	assert(slot != NULL);
	memset(slot, 0, sizeof(*slot));
	if (slot - s->table < s->free_from)
		s->free_from = (uint32_t)(slot - s->table);
}
