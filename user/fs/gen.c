/* gen.c - generated files. */
#include "user/fs/gen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/gen.h"

/* The value of a cookie: file number above 32 bits of MiB. */
#define VALUE(mib, file) ((uint64_t)(file) << 32 | (mib))
#define VALUE_MIB(value) ((uint32_t)(value))
#define VALUE_FILE(value) ((unsigned int)((value) >> 32))

struct gen_file {
	struct node node;
	struct gen_file *next;
};

static struct gen_file *files; /* open, or idle (node.h) */

/* A number in plain decimal, one spelling only: no sign, no leading zero. */
static const char *parse_number(const char *s, uint64_t max, uint64_t *value)
{
	const char *first = s;

	*value = 0;
	for (; *s >= '0' && *s <= '9' && *value <= max; s++)
		*value = *value * 10 + (uint64_t)(*s - '0');
	if (s == first || *first == '0' || *value > max)
		return NULL;
	return s;
}

static bool parse_name(const char *name, uint64_t *value)
{
	uint64_t mib, file = 0;

	name = parse_number(name, GEN_MAX_MIB, &mib);
	if (name && *name == '.')
		name = parse_number(name + 1, GEN_MAX_FILES - 1, &file);
	if (!name || *name != '\0')
		return false;
	*value = VALUE(mib, file);
	return true;
}

int gen_find(const char *name, struct node **node)
{
	struct gen_file *f = files;
	uint64_t value, cookie;

	if (!parse_name(name, &value))
		return -ENOENT;
	cookie = cookie_make(COOKIE_GEN, value);
	while (f && f->node.cookie != cookie)
		f = f->next;
	if (!f) {
		f = malloc(sizeof(*f));
		if (!f)
			return -ENOMEM;
		node_init(&f->node, &gen_class, cookie, (uint64_t)VALUE_MIB(value) << 20);
		f->next = files;
		files = f;
	}
	*node = &f->node;
	return 0;
}

static void gen_forget(struct node *node)
{
	struct gen_file *f = (struct gen_file *)node, **link = &files; /* node is its first member */

	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	free(f);
}

void gen_list(struct text *out)
{
	for (struct gen_file *f = files; f; f = f->next) {
		uint64_t value = cookie_value(f->node.cookie);

		text_printf(out, "%u", VALUE_MIB(value));
		if (VALUE_FILE(value))
			text_printf(out, ".%u", VALUE_FILE(value));
		text_printf(out, "\n");
	}
}

static long gen_page_in(uint64_t cookie, uint64_t index, void *page)
{
	uint64_t value = cookie_value(cookie);

	if (index >= (uint64_t)VALUE_MIB(value) * GEN_PAGES_PER_MIB)
		return -EINVAL;
	gen_fill(page, gen_first_page(VALUE_FILE(value)) + index);
	return FS_PAGE_SIZE;
}

const struct node_class gen_class = { .page_in = gen_page_in, .forget = gen_forget };
