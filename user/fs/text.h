/*
 * text.h - a growing text: what a stream file will return.
 */
#ifndef USER_FS_TEXT_H
#define USER_FS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data; /* malloc'd, or NULL while empty */
	size_t length;
	size_t capacity;
	bool failed; /* out of memory: the text is incomplete */
};

/* Appends. After a failure it does nothing, so that only the end result need be checked. */
void text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

void text_free(struct text *t);

#endif
