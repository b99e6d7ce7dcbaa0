/* gen.c - generated files. */
#include "user/fs/gen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/gen.h"

#define CHAINS 256

/* The value of a cookie: file number above 32 bits of MiB. */
#define VALUE(mib, file) ((uint64_t)(file) << 32 | (mib))
#define VALUE_MIB(value) ((uint32_t)(value))
#define VALUE_FILE(value) ((unsigned int)((value) >> 32))

struct gen_file {
	struct node node;
	struct gen_file *next;
};

static struct gen_file *files[CHAINS]; /* open, or idle (node.h); by cookie */

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

static struct gen_file **chain_of(uint64_t cookie)
{
	return &files[(cookie ^ cookie >> 32) % CHAINS];
}

int gen_find(const char *name, struct node **node)
{
	struct gen_file *f, **chain;
	uint64_t value, cookie;

	if (!parse_name(name, &value))
		return -ENOENT;
	cookie = cookie_make(COOKIE_GEN, value);
	chain = chain_of(cookie);
	f = *chain;
	while (f && f->node.cookie != cookie)
		f = f->next;
	if (!f) {
		f = malloc(sizeof(*f));
		if (!f)
			return -ENOMEM;
		node_init(&f->node, &gen_class, cookie, (uint64_t)VALUE_MIB(value) << 20);
		f->next = *chain;
		*chain = f;
	}
	*node = &f->node;
	return 0;
}

static void gen_forget(struct node *node)
{
	struct gen_file *f = (struct gen_file *)node; /* node is its first member */
	struct gen_file **link = chain_of(node->cookie);

	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	free(f);
}

static void list_name(uint64_t value, struct text *out)
{
	text_printf(out, "%u", VALUE_MIB(value));
	if (VALUE_FILE(value))
		text_printf(out, ".%u", VALUE_FILE(value));
	text_printf(out, "\n");
}

void gen_list(struct text *out)
{
	for (unsigned int i = 0; i < CHAINS; i++)
		for (struct gen_file *f = files[i]; f; f = f->next)
			list_name(cookie_value(f->node.cookie), out);
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
