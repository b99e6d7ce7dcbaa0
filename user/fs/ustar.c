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

/* GNU's form for numbers that need more digits: bytes, the first one marked by its top bit. */
static bool base_256(const char *field, size_t length, uint64_t *value)
{
	*value = (unsigned char)field[0] & 0x7f;
	for (size_t i = 1; i < length; i++) {
		if (*value >> 56)
			return false;
		*value = *value << 8 | (unsigned char)field[i];
	}
	return *value <= INT64_MAX; /* a negative one too is too large */
}

/* Octal digits, perhaps after spaces, up to a space, a NUL or the end of the field. */
static bool number(const char *field, size_t length, uint64_t *value)
{
	size_t i = 0, digits = 0;

	if ((unsigned char)field[0] & 0x80)
		return base_256(field, length, value);
	*value = 0;
	while (i < length && field[i] == ' ')
		i++;
	for (; i < length && field[i] >= '0' && field[i] <= '7'; i++, digits++)
		*value = *value * 8 + (uint64_t)(field[i] - '0'); /* 12 digits are 36 bits */
	return digits > 0 && (i == length || field[i] == ' ' || field[i] == '\0');
}

static bool is_zero(const void *bytes, size_t length)
{
	const uint8_t *byte = bytes;

	while (length > 0 && *byte == 0) {
		byte++;
		length--;
	}
	return length == 0;
}

/* The sum of all bytes, the checksum's own taken as spaces. Old programs added signed bytes. */
static bool checksum_matches(const struct header *h)
{
	const uint8_t *byte = (const uint8_t *)h;
	size_t first = offsetof(struct header, checksum);
	uint64_t stored, sum = 0, above = 0;

	for (size_t i = 0; i < BLOCK; i++) {
		bool own = i - first < sizeof(h->checksum);

		sum += own ? ' ' : byte[i];
		above += !own && byte[i] >= 128;
	}
	return number(h->checksum, sizeof(h->checksum), &stored) &&
	       (stored == sum || stored == sum - 256 * above);
}

/* ---- Names -------------------------------------------------------------------------------- */

static struct ustar_name name_in(const char *field, size_t size)
{
	return (struct ustar_name){ field, strnlen(field, size) };
}

static bool append(char *path, struct ustar_name name)
{
	size_t used = strlen(path), room = USTAR_PATH_SIZE - 1 - used;
	size_t length = name.length < room ? name.length : room;

	memcpy(path + used, name.text, length);
	path[used + length] = '\0';
	return length == name.length;
}

/* Only POSIX headers have a prefix there; GNU keeps other things in its place. */
static bool join_path(const struct header *h, char *path)
{
	struct ustar_name prefix = name_in(h->prefix, sizeof(h->prefix));

	path[0] = '\0';
	if (memcmp(h->magic, "ustar", sizeof(h->magic)) == 0 && prefix.length > 0 &&
	    !(append(path, prefix) && append(path, (struct ustar_name){ "/", 1 })))
		return false;
	return append(path, name_in(h->name, sizeof(h->name)));
}

/* ---- Headers about headers ----------------------------------------------------------------- */

static bool is_key(const char *record, size_t length, const char *key)
{
	return strlen(key) == length && memcmp(record, key, length) == 0;
}

static bool decimal(struct ustar_name text, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < text.length; i++) {
		if (text.text[i] < '0' || text.text[i] > '9' || *value > INT64_MAX / 10)
			return false;
		*value = *value * 10 + (uint64_t)(text.text[i] - '0');
	}
	return text.length > 0;
}

/* One `key=value`. An empty value takes back what was said before. */
static bool take_record(struct ustar_extended *ext, const char *record, size_t length)
{
	const char *equals = memchr(record, '=', length);
	size_t key = equals ? (size_t)(equals - record) : 0;
	struct ustar_name value;

	if (key == 0)
		return false;
	value = name_in(equals + 1, length - key - 1);
	if (is_key(record, key, "path"))
		ext->path = value;
	else if (is_key(record, key, "linkpath"))
		ext->link = value;
	else if (is_key(record, key, "size"))
		ext->has_size = value.length > 0;
	else if (key > 11 && memcmp(record, "GNU.sparse.", 11) == 0)
		ext->sparse = true;
	return !(is_key(record, key, "size") && ext->has_size) || decimal(value, &ext->size);
}

/* pax: records of `length key=value\n`, the length counting all of its record. */
static bool take_records(struct ustar_extended *ext, const char *text, size_t left)
{
	while (left > 0 && *text != '\0') {
		const char *space = memchr(text, ' ', left);
		size_t digits = space ? (size_t)(space - text) : 0;
		uint64_t length;

		if (digits == 0 || digits > 18 ||
		    !decimal((struct ustar_name){ text, digits }, &length) ||
		    length <= digits + 2 || length > left || text[length - 1] != '\n' ||
		    !take_record(ext, space + 1, (size_t)length - digits - 2))
			return false;
		text += length;
		left -= (size_t)length;
	}
	return true;
}

/* true: the header only says something about others, and that has been taken. */
static bool take_extended(struct ustar *u, char type, const char *data, size_t size, bool *good)
{
	switch (type) {
	case 'x':
	case 'X': /* the same, before it was a standard */
		*good = take_records(&u->next, data, size);
		return true;
	case 'g':
		*good = take_records(&u->global, data, size);
		return true;
	case 'L':
		u->next.path = name_in(data, size);
		return true;
	case 'K':
		u->next.link = name_in(data, size);
		return true;
	case 'V': /* the name of the archive */
		return true;
	}
	return false;
}

/* ---- Entries ------------------------------------------------------------------------------- */

/* Links, devices and directories may have a size, but it counts no data. */
static bool has_data(char type)
{
	return type < '1' || type > '6';
}

static void take_names(struct ustar *u, const struct header *h, struct ustar_entry *entry)
{
	const struct ustar_name *path = u->next.path.text ? &u->next.path : &u->global.path;
	const struct ustar_name *link = u->next.link.text ? &u->next.link : &u->global.link;
	bool whole;

	entry->path[0] = entry->link[0] = '\0';
	whole = path->length > 0 ? append(entry->path, *path) : join_path(h, entry->path);
	if (h->type == '1')
		whole &= append(entry->link, link->length > 0 ?
						     *link :
						     name_in(h->linkname, sizeof(h->linkname)));
	if (!whole)
		entry->problem = "its name is too long";
}

static void take_kind(struct ustar *u, const struct header *h, struct ustar_entry *entry)
{
	size_t length = strlen(entry->path);
	bool directory = h->type == '\0' && length > 0 && entry->path[length - 1] == '/';

	entry->regular = (h->type == '0' || h->type == '\0' || h->type == '7') && !directory;
	if (h->type == 'S' || u->next.sparse || u->global.sparse)
		entry->problem = "a sparse file";
	else if (!entry->regular && has_data(h->type) && !directory && h->type != 'D')
		entry->problem = "of a kind that is not known";
}

/* GNU's sparse files: the map of holes goes on in blocks of its own before the data. */
static size_t sparse_map_bytes(const struct ustar *u, const struct header *h)
{
	const uint8_t *block = (const uint8_t *)h;
	size_t bytes = 0, left = u->length - u->offset - BLOCK;
	bool more = h->type == 'S' && block[482] != 0;

	while (more && left - bytes >= BLOCK) {
		block += BLOCK;
		bytes += BLOCK;
		more = block[504] != 0;
	}
	return bytes;
}

static enum ustar_result take_entry(struct ustar *u, const struct header *h,
				    struct ustar_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	take_names(u, h, entry);
	take_kind(u, h, entry);
	if (entry->path[0] == '\0')
		return error(u, "an entry without a name");
	memset(&u->next, 0, sizeof(u->next));
	return USTAR_ENTRY;
}

/* Where a header's data is, and how much of it. */
static bool find_data(struct ustar *u, const struct header *h, size_t *skip, uint64_t *size)
{
	bool about_entry = !strchr("xXgLKV", h->type) || h->type == '\0';

	if (!number(h->size, sizeof(h->size), size)) {
		error(u, "the size is not a number");
		return false;
	}
	if (about_entry && (u->next.has_size || u->global.has_size))
		*size = u->next.has_size ? u->next.size : u->global.size;
	if (!has_data(h->type))
		*size = 0;
	*skip = BLOCK + sparse_map_bytes(u, h);
	if (*size > u->length - u->offset - *skip) {
		error(u, "a file of %llu bytes with %zu left in the archive",
		      (unsigned long long)*size, u->length - u->offset - *skip);
		return false;
	}
	return true;
}

static bool header_good(struct ustar *u, const struct header *h)
{
	if (memcmp(h->magic, "ustar", 5) != 0 && !is_zero(h->magic, sizeof(h->magic)))
		error(u, "not a tar header");
	else if (!checksum_matches(h))
		error(u, "wrong checksum");
	return u->error[0] == '\0';
}

/* One header, with what belongs to it. USTAR_END: it was about others, go on. */
static enum ustar_result take_header(struct ustar *u, const struct header *h,
				     struct ustar_entry *entry)
{
	enum ustar_result result = USTAR_END;
	size_t skip, left, padded;
	const uint8_t *data;
	bool good = true;
	uint64_t size;

	if (!header_good(u, h) || !find_data(u, h, &skip, &size))
		return USTAR_ERROR;
	data = u->base + u->offset + skip;
	if (!take_extended(u, h->type, (const char *)data, (size_t)size, &good))
		result = take_entry(u, h, entry);
	if (!good)
		return error(u, "a damaged extended header");
	if (result == USTAR_ERROR)
		return result;
	left = u->length - u->offset - skip;
	padded = ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
	u->offset += skip + (padded < left ? padded : left);
	entry->data = data;
	entry->size = size;
	return result;
}

enum ustar_result ustar_next(struct ustar *u, struct ustar_entry *entry)
{
	enum ustar_result result = u->error[0] ? USTAR_ERROR : USTAR_END;

	while (result == USTAR_END) {
		const struct header *h = (const void *)(u->base + u->offset);

		if (u->length - u->offset < BLOCK)
			return error(u, "truncated: no end mark");
		if (is_zero(h, BLOCK))
			return USTAR_END;
		result = take_header(u, h, entry);
	}
	return result;
}
