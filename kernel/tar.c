/* tar.c - see tar.h. Source: POSIX.1-2008, pax, "ustar Interchange Format". */
#include "kernel/tar.h"
#include "kernel/lib.h"

#define BLOCK 512u

struct ustar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
	char type;
	char link[100], magic[6], version[2], uname[32], gname[32], major[8], minor[8];
	char prefix[155], pad[12];
};

_Static_assert(sizeof(struct ustar_header) == BLOCK, "a ustar header is one block");

/* Octal digits up to a blank or 0. false: something else, or too large. */
static bool parse_octal(const char *field, size_t len, u64 *value)
{
	size_t i = 0;

	*value = 0;
	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] && field[i] != ' '; i++) {
		if (field[i] < '0' || field[i] > '7')
			return false;
		*value = *value * 8 + (u64)(field[i] - '0');
	}
	return true;
}

static bool checksum_ok(const struct ustar_header *h)
{
	const u8 *bytes = (const u8 *)h;
	u64 want, sum = 0;
	size_t i;

	for (i = 0; i < BLOCK; i++) {
		bool in_field = i >= offsetof(struct ustar_header, checksum) &&
				i < offsetof(struct ustar_header, checksum) + sizeof(h->checksum);

		sum += in_field ? ' ' : bytes[i];
	}
	return parse_octal(h->checksum, sizeof(h->checksum), &want) && want == sum;
}

static bool name_is(const struct ustar_header *h, const char *name)
{
	const char *have = h->name;
	size_t max = sizeof(h->name), len = strlen(name);

	if (max > 2 && have[0] == '.' && have[1] == '/') {
		have += 2;
		max -= 2;
	}
	return !h->prefix[0] && len < max && !memcmp(have, name, len) && have[len] == 0;
}

const void *tar_find(const void *archive, size_t size, const char *name, size_t *file_size,
		     const char **why)
{
	size_t at = 0;
	u64 bytes;

	while (size - at >= BLOCK) {
		const struct ustar_header *h = (const void *)((const u8 *)archive + at);

		if (!h->name[0])
			break; /* the end: two blocks of zeroes */
		*why = "it has a damaged header";
		if (memcmp(h->magic, "ustar", 5) || !checksum_ok(h) ||
		    !parse_octal(h->size, sizeof(h->size), &bytes))
			return NULL;
		at += BLOCK;
		*why = "it is truncated";
		if (bytes > size - at)
			return NULL;
		if ((h->type == '0' || h->type == 0) && name_is(h, name)) {
			*file_size = bytes;
			return (const u8 *)archive + at;
		}
		at += MIN(ALIGN_UP(bytes, (u64)BLOCK), size - at);
	}
	*why = "it does not contain the file";
	return NULL;
}
