/* elf.c - see elf.h. Source: System V ABI, chapter 4 and 5; the x86-64 supplement. */
#include "kernel/elf.h"
#include "kernel/lib.h"

struct elf_header {
	u8 ident[16];
	u16 type, machine;
	u32 version;
	u64 entry, phoff, shoff;
	u32 flags;
	u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_phdr {
	u32 type, flags;
	u64 offset, vaddr, paddr, filesz, memsz, align;
};

#define ET_EXEC     2
#define EM_X86_64   62
#define PT_LOAD     1
#define PT_INTERP   3
#define PF_X        1
#define PF_W        2
#define PF_R        4
#define MAX_PHNUM   32

static const char *check_header(const struct elf_header *h, size_t len)
{
	static const u8 ident[7] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

	if (len < sizeof(*h))
		return "too short for an ELF header";
	if (memcmp(h->ident, ident, sizeof(ident)))
		return "not a little-endian ELF64 file";
	if (h->machine != EM_X86_64)
		return "not for x86-64";
	if (h->type != ET_EXEC)
		return "not a static executable at a fixed address (link with -static, no -pie)";
	if (h->phentsize != sizeof(struct elf_phdr) || h->phnum == 0 || h->phnum > MAX_PHNUM)
		return "program headers of an odd number or size";
	if (h->phoff > len || len - h->phoff < (size_t)h->phnum * sizeof(struct elf_phdr))
		return "program headers outside the first page";
	return NULL;
}

static const char *check_segment(const struct elf_phdr *p, u64 file_size, u64 low, u64 high,
				 const struct elf_info *info)
{
	if (p->filesz > p->memsz)
		return "a segment larger in the file than in memory";
	if (p->offset > file_size || p->filesz > file_size - p->offset)
		return "a segment past the end of the file (truncated?)";
	if (p->vaddr < low || p->vaddr > high || p->memsz > high - p->vaddr)
		return "a segment outside the user's addresses";
	if (p->vaddr % PAGE_SIZE != p->offset % PAGE_SIZE)
		return "a segment whose address and offset disagree";
	if (ALIGN_DOWN(p->vaddr, PAGE_SIZE) < info->end)
		return "segments that overlap or are not in order";
	if (info->nr_segments == ELF_MAX_SEGMENTS)
		return "too many segments";
	if ((p->flags & PF_W) && (p->flags & PF_X))
		return "a segment both writable and executable";
	return NULL;
}

static void add_segment(const struct elf_phdr *p, const struct elf_header *h, struct elf_info *info)
{
	struct elf_segment *s = &info->segments[info->nr_segments++];

	s->vaddr = p->vaddr;
	s->filesz = p->filesz;
	s->memsz = p->memsz;
	s->offset = p->offset;
	s->prot = (p->flags & PF_R ? 1u : 0) | (p->flags & PF_W ? 2u : 0) |
		  (p->flags & PF_X ? 4u : 0);
	info->end = ALIGN_UP(p->vaddr + p->memsz, PAGE_SIZE);
	if (h->phoff >= p->offset && h->phoff - p->offset < p->filesz)
		info->phdr_vaddr = p->vaddr + (h->phoff - p->offset);
}

static bool entry_is_code(const struct elf_info *info)
{
	u32 i;

	for (i = 0; i < info->nr_segments; i++) {
		const struct elf_segment *s = &info->segments[i];

		if ((s->prot & 4) && info->entry >= s->vaddr && info->entry - s->vaddr < s->filesz)
			return true;
	}
	return false;
}

const char *elf_parse(const void *head, size_t len, u64 file_size, u64 low, u64 high,
		      struct elf_info *info)
{
	struct elf_header h;
	struct elf_phdr p;
	const char *wrong;
	u16 i;

	memset(info, 0, sizeof(*info));
	memset(&h, 0, sizeof(h));
	memcpy(&h, head, MIN(len, sizeof(h)));
	wrong = check_header(&h, len);
	if (wrong)
		return wrong;
	info->entry = h.entry;
	info->phnum = h.phnum;
	info->phentsize = h.phentsize;
	for (i = 0; i < h.phnum; i++) {
		memcpy(&p, (const u8 *)head + h.phoff + i * sizeof(p), sizeof(p));
		if (p.type == PT_INTERP)
			return "dynamically linked (link with -static)";
		if (p.type != PT_LOAD || !p.memsz)
			continue;
		wrong = check_segment(&p, file_size, low, high, info);
		if (wrong)
			return wrong;
		add_segment(&p, &h, info);
	}
	return entry_is_code(info) ? NULL : "an entry point outside its code";
}
