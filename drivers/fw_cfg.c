#include "drivers/fw_cfg.h"

#include "arch/io.h"
#include "kernel/errno.h"
#include "kernel/lib.h"

#define FW_CFG_SELECTOR 0x510
#define FW_CFG_DATA     0x511

#define KEY_SIGNATURE 0x00
#define KEY_DIRECTORY 0x19
#define MAX_FILES     256 /* QEMU has a few dozen */

struct fw_cfg_file {
	u32 size;
	u16 select, reserved;
	char name[56];
};

static void read_item(u16 key, void *buf, size_t len)
{
	outw(FW_CFG_SELECTOR, key);
	for (u8 *p = buf; len > 0; len--)
		*p++ = inb(FW_CFG_DATA);
}

int fw_cfg_read_string(const char *name, char *buf, size_t size)
{
	static struct {
		u32 count; /* big-endian, as all of it */
		struct fw_cfg_file file[MAX_FILES];
	} directory;
	char signature[4];
	u32 count;

	read_item(KEY_SIGNATURE, signature, sizeof(signature));
	if (memcmp(signature, "QEMU", sizeof(signature)) != 0)
		return -ENODEV;
	read_item(KEY_DIRECTORY, &directory, sizeof(directory));
	count = MIN(__builtin_bswap32(directory.count), MAX_FILES);
	for (const struct fw_cfg_file *f = directory.file; f < directory.file + count; f++) {
		size_t len = __builtin_bswap32(f->size);

		if (strncmp(f->name, name, sizeof(f->name)) != 0)
			continue;
		memset(buf, 0, size);
		read_item(__builtin_bswap16(f->select), buf, MIN(len, size - 1));
		return (int)MIN(len, INT32_MAX);
	}
	return -ENOENT;
}
