/* gen.c - generated files. */
#include "user/fs/gen.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "user/lib/gen.h"

#define GEN_NODES 64

/* The value of a cookie: file number above 32 bits of MiB. */
#define VALUE(mib, file) ((uint64_t)(file) << 32 | (mib))
#define VALUE_MIB(value) ((uint32_t)(value))
#define VALUE_FILE(value) ((unsigned int)((value) >> 32))

static struct node nodes[GEN_NODES]; /* unused: class is NULL */

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

/* The node with this cookie, or else one that may be taken for it, or NULL. */
static struct node *find_slot(uint64_t cookie)
{
	struct node *usable = NULL;

	for (unsigned int i = 0; i < GEN_NODES; i++) {
		if (nodes[i].class && nodes[i].cookie == cookie)
			return &nodes[i];
		if (!nodes[i].class || (nodes[i].opens == 0 && !usable))
			usable = &nodes[i];
	}
	return usable;
}

int gen_find(const char *name, struct node **node)
{
	uint64_t value, cookie;

	if (!parse_name(name, &value))
		return -ENOENT;
	cookie = cookie_make(COOKIE_GEN, value);
	*node = find_slot(cookie);
	if (!*node)
		return -ENFILE;
	if (!(*node)->class || (*node)->cookie != cookie) {
		if ((*node)->class)
			node_drop_object(*node);
		node_init(*node, &gen_class, cookie, (uint64_t)VALUE_MIB(value) << 20);
	}
	return 0;
}

void gen_list(struct text *out)
{
	for (unsigned int i = 0; i < GEN_NODES; i++) {
		uint64_t value = cookie_value(nodes[i].cookie);

		if (!nodes[i].class)
			continue;
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

const struct node_class gen_class = { .page_in = gen_page_in };
