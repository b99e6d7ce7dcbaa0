/* ustar.c - reads a tar archive in memory, entry by entry. */
#include "user/fs/ustar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 512

/* The header block; all fields are text, and none need be NUL-terminated. */
struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char linkname[100];
	char magic[6];
	char version[2];
	char uname[32];
	char gname[32];
	char devmajor[8];
	char devminor[8];
	char prefix[155];
	char pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a ustar header is one block");

void ustar_open(struct ustar *u, const void *base, size_t length)
{
	memset(u, 0, sizeof(*u));
	u->base = base;
	u->length = length;
}

static enum ustar_result __attribute__((format(printf, 2, 3)))
error(struct ustar *u, const char *format, ...)
{
	int n = snprintf(u->error, sizeof(u->error), "archive, offset %zu: ", u->offset);
	va_list args;

	va_start(args, format);
	vsnprintf(u->error + n, sizeof(u->error) - (size_t)n, format, args);
	va_end(args);
	u->offset = u->length; /* nothing follows an error */
	return USTAR_ERROR;
}

/* Octal digits, perhaps after spaces, up to a space, a NUL or the end of the field. */
static bool octal(const char *field, size_t length, uint64_t *value)
{
	size_t i = 0, digits = 0;

	*value = 0;
	while (i < length && field[i] == ' ')
		i++;
	for (; i < length && field[i] >= '0' && field[i] <= '7'; i++, digits++)
		*value = *value * 8 + (uint64_t)(field[i] - '0'); /* 12 digits are 36 bits */
	return digits > 0 && (i == length || field[i] == ' ' || field[i] == '\0');
}

static bool is_zero_block(const uint8_t *block)
{
	for (int i = 0; i < BLOCK; i++)
		if (block[i] != 0)
			return false;
	return true;
}

/* The sum of all bytes of the header, its checksum field taken as spaces. */
static bool checksum_matches(const struct header *h)
{
	const uint8_t *byte = (const uint8_t *)h;
	size_t first = offsetof(struct header, checksum);
	uint64_t stored, sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i - first < sizeof(h->checksum) ? ' ' : byte[i];
	return octal(h->checksum, sizeof(h->checksum), &stored) && stored == sum;
}

static void join_path(const struct header *h, char *path)
{
	size_t prefix = strnlen(h->prefix, sizeof(h->prefix));
	size_t name = strnlen(h->name, sizeof(h->name));

	memcpy(path, h->prefix, prefix);
	if (prefix > 0)
		path[prefix++] = '/';
	memcpy(path + prefix, h->name, name);
	path[prefix + name] = '\0';
}

static enum ustar_result take_entry(struct ustar *u, const struct header *h,
				    struct ustar_entry *entry)
{
	size_t left = u->length - u->offset - BLOCK;
	uint64_t padded;

	if (!octal(h->size, sizeof(h->size), &entry->size))
		return error(u, "the size is not an octal number");
	entry->regular = h->type == '0' || h->type == '\0';
	if (!entry->regular)
		entry->size = 0; /* for links and the like the field counts no data */
	if (entry->size > left)
		return error(u, "a file of %llu bytes with %zu left in the archive",
			     (unsigned long long)entry->size, left);
	join_path(h, entry->path);
	if (entry->path[0] == '\0')
		return error(u, "an entry without a name");
	entry->data = u->base + u->offset + BLOCK;
	padded = (entry->size + BLOCK - 1) / BLOCK * BLOCK;
	u->offset += BLOCK + (padded < left ? (size_t)padded : left);
	return USTAR_ENTRY;
}

enum ustar_result ustar_next(struct ustar *u, struct ustar_entry *entry)
{
	const struct header *h = (const void *)(u->base + u->offset);

	if (u->error[0])
		return USTAR_ERROR;
	if (u->length - u->offset < BLOCK)
		return error(u, "truncated: no end mark");
	if (is_zero_block((const void *)h))
		return USTAR_END;
	if (memcmp(h->magic, "ustar", 6) != 0)
		return error(u, "not a ustar header");
	if (!checksum_matches(h))
		return error(u, "wrong checksum");
	return take_entry(u, h, entry);
}
