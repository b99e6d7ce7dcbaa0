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

struct info_header {
	u32 total_size, reserved;
};

struct tag {
	u32 type, size; /* size: of the tag with this header, without padding */
};

struct mmap_tag {
	u32 entry_size, entry_version;
};

struct mmap_entry {
	u64 base, len;
	u32 type, reserved;
};

struct module_tag {
	u32 start, end; /* the string follows */
};

/* A string that its writer may have left without end. */
static void copy_string(char *dst, size_t size, const void *src, size_t len)
{
	size_t n = strnlen(src, MIN(len, size - 1));

	memcpy(dst, src, n);
	dst[n] = '\0';
}

static int add_mem(struct boot_info *out, const struct mmap_entry *e)
{
	if (e->base + e->len < e->base)
		return -EINVAL;
	if (e->len == 0)
		return 0;
	if (out->nr_mem == BOOT_MAX_MEM) {
		out->nr_dropped++;
		return 0;
	}
	out->mem[out->nr_mem++] = (struct boot_mem){ e->base, e->len, e->type };
	return 0;
}

static int parse_mmap(struct boot_info *out, const u8 *body, size_t len)
{
	struct mmap_tag head;

	if (len < sizeof(head))
		return -EINVAL;
	memcpy(&head, body, sizeof(head));
	if (head.entry_size < sizeof(struct mmap_entry))
		return -EINVAL;
	for (size_t at = sizeof(head); len - at >= head.entry_size; at += head.entry_size) {
		struct mmap_entry e;

		memcpy(&e, body + at, sizeof(e));
		if (add_mem(out, &e) < 0)
			return -EINVAL;
	}
	return 0;
}

static int parse_module(struct boot_info *out, const u8 *body, size_t len)
{
	struct module_tag head;
	struct boot_mod *mod;

	if (len < sizeof(head))
		return -EINVAL;
	memcpy(&head, body, sizeof(head));
	if (head.start > head.end)
		return -EINVAL;
	if (out->nr_mods == BOOT_MAX_MODS) {
		out->nr_dropped++;
		return 0;
	}
	mod = &out->mod[out->nr_mods++];
	mod->start = head.start;
	mod->end = head.end;
	copy_string(mod->name, sizeof(mod->name), body + sizeof(head), len - sizeof(head));
	return 0;
}

/* The new tag has the longer root pointer; whichever comes first, the longer one stays. */
static void parse_rsdp(struct boot_info *out, const u8 *body, size_t len, size_t wanted)
{
	if (len < wanted || out->rsdp_len >= wanted)
		return;
	memcpy(out->rsdp, body, wanted);
	out->rsdp_len = (u32)wanted;
}

static int parse_tag(struct boot_info *out, u32 type, const u8 *body, size_t len)
{
	switch (type) {
	case TAG_CMDLINE:
		copy_string(out->cmdline, sizeof(out->cmdline), body, len);
		return 0;
	case TAG_LOADER:
		copy_string(out->loader, sizeof(out->loader), body, len);
		return 0;
	case TAG_MODULE:
		return parse_module(out, body, len);
	case TAG_MMAP:
		return parse_mmap(out, body, len);
	case TAG_ACPI_OLD:
		parse_rsdp(out, body, len, 20);
		return 0;
	case TAG_ACPI_NEW:
		parse_rsdp(out, body, len, 36);
		return 0;
	default:
		return 0;
	}
}

int multiboot2_parse(const void *mbi, size_t max, struct boot_info *out)
{
	const u8 *base = mbi;
	struct info_header head;
	size_t at = sizeof(head);

	memset(out, 0, sizeof(*out));
	if (max < sizeof(head))
		return -EINVAL;
	memcpy(&head, base, sizeof(head));
	if (head.total_size < sizeof(head) || head.total_size > max)
		return -EINVAL;
	for (;;) {
		struct tag tag;
		size_t left = head.total_size - at;

		if (left < sizeof(tag))
			return -EINVAL; /* no end tag */
		memcpy(&tag, base + at, sizeof(tag));
		if (tag.size < sizeof(tag) || tag.size > left)
			return -EINVAL;
		if (tag.type == TAG_END)
			break;
		if (parse_tag(out, tag.type, base + at + sizeof(tag), tag.size - sizeof(tag)) < 0)
			return -EINVAL;
		at += MIN(ALIGN_UP((size_t)tag.size, 8), left);
	}
	return out->nr_mem ? 0 : -ENODATA;
}
