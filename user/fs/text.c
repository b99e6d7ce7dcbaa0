/* text.c - a growing text. */
#include "user/fs/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` bytes and a NUL. */
static bool reserve(struct text *t, size_t more)
{
	size_t need = t->length + more + 1, capacity = t->capacity ? t->capacity : 1024;
	char *data;

	if (need <= t->capacity)
		return true;
	while (capacity < need)
		capacity *= 2;
	data = realloc(t->data, capacity);
	if (!data)
		return false;
	t->data = data;
	t->capacity = capacity;
	return true;
}

void text_printf(struct text *t, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	if (t->failed)
		return;
	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(line) || !reserve(t, (size_t)n)) {
		t->failed = true;
		return;
	}
	memcpy(t->data + t->length, line, (size_t)n + 1);
	t->length += (size_t)n;
}

void text_free(struct text *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}
