#include "boot/multiboot2.h"

#include "kernel/errno.h"
#include "kernel/lib.h"

enum tag_type {
	TAG_END = 0,
	TAG_CMDLINE = 1,
	TAG_LOADER = 2,
	TAG_MODULE = 3,
	TAG_MMAP = 6,
	TAG_ACPI_OLD = 14,
	TAG_ACPI_NEW = 15,
};

#define TAG_HEADER     8 /* type and size, which counts the header but no padding */
#define MMAP_ENTRIES   8 /* behind the size of one and a version, in the tag's body */
#define MMAP_ENTRY_MIN 24
#define MODULE_NAME    8 /* behind start and end */

/* A string that its writer may have left without end. */
static int copy_string(char *dst, size_t size, struct bytes text)
{
	size_t n = strnlen((const char *)text.data, MIN(text.len, size - 1));

	memcpy(dst, text.data, n);
	dst[n] = '\0';
	return 0;
}

static int add_mem(struct boot_info *out, u64 base, u64 len, u32 type)
{
	if (base + len < base)
		return -EINVAL;
	if (out->nr_mem == BOOT_MAX_MEM)
		out->nr_dropped++;
	else if (len)
		out->mem[out->nr_mem++] = (struct boot_mem){base, len, type};
	return 0;
}

static int parse_mmap(struct boot_info *out, struct bytes body)
{
	size_t size = bytes_le(body, 0, 4);

	if (size < MMAP_ENTRY_MIN)
		return -EINVAL;
	for (size_t at = MMAP_ENTRIES; at + size <= body.len; at += size)
		if (add_mem(out, bytes_le(body, at, 8), bytes_le(body, at + 8, 8),
			    (u32)bytes_le(body, at + 16, 4)) < 0)
			return -EINVAL;
	return 0;
}

static int parse_module(struct boot_info *out, struct bytes body)
{
	struct boot_mod mod = {bytes_le(body, 0, 4), bytes_le(body, 4, 4), ""};

	if (body.len < MODULE_NAME || mod.start > mod.end)
		return -EINVAL;
	copy_string(mod.name, sizeof(mod.name),
		    (struct bytes){body.data + MODULE_NAME, body.len - MODULE_NAME});
	if (out->nr_mods == BOOT_MAX_MODS)
		out->nr_dropped++;
	else
		out->mod[out->nr_mods++] = mod;
	return 0;
}

/* The new tag has the longer root pointer; whichever comes first, the longer one stays. */
static int parse_rsdp(struct boot_info *out, struct bytes body, u32 wanted)
{
	if (body.len >= wanted && wanted > out->rsdp_len) {
		memcpy(out->rsdp, body.data, wanted);
		out->rsdp_len = wanted;
	}
	return 0;
}

static int parse_tag(struct boot_info *out, enum tag_type type, struct bytes body)
{
	switch (type) {
	case TAG_CMDLINE: return copy_string(out->cmdline, sizeof(out->cmdline), body);
	case TAG_LOADER: return copy_string(out->loader, sizeof(out->loader), body);
	case TAG_MODULE: return parse_module(out, body);
	case TAG_MMAP: return parse_mmap(out, body);
	case TAG_ACPI_OLD: return parse_rsdp(out, body, 20);
	case TAG_ACPI_NEW: return parse_rsdp(out, body, 36);
	default: return 0;
	}
}

int multiboot2_parse(const void *mbi, size_t max, struct boot_info *out)
{
	struct bytes all = {mbi, max};
	size_t size;

	memset(out, 0, sizeof(*out));
	all.len = bytes_le(all, 0, 4);
	if (all.len > max)
		return -EINVAL;
	for (size_t at = TAG_HEADER;; at += ALIGN_UP(size, 8)) {
		enum tag_type type = bytes_le(all, at, 4);
		struct bytes body;

		size = bytes_le(all, at + 4, 4);
		if (size < TAG_HEADER || size > all.len - at)
			return -EINVAL; /* or there is no end tag */
		if (type == TAG_END)
			return out->nr_mem ? 0 : -ENODATA;
		body = (struct bytes){all.data + at + TAG_HEADER, size - TAG_HEADER};
		if (parse_tag(out, type, body) < 0)
			return -EINVAL;
	}
}
