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

void fw_cfg_read(void *buf, size_t len)
{
	for (u8 *p = buf; len > 0; len--)
		*p++ = inb(FW_CFG_DATA);
}

s64 fw_cfg_open(const char *name)
{
	static struct {
		u32 count; /* big-endian, as all of it */
		struct fw_cfg_file file[MAX_FILES];
	} directory;
	char signature[4];
	u32 count;

	outw(FW_CFG_SELECTOR, KEY_SIGNATURE);
	fw_cfg_read(signature, sizeof(signature));
	if (memcmp(signature, "QEMU", sizeof(signature)) != 0)
		return -ENODEV;
	outw(FW_CFG_SELECTOR, KEY_DIRECTORY);
	fw_cfg_read(&directory, sizeof(directory));
	count = MIN(__builtin_bswap32(directory.count), MAX_FILES);
	for (const struct fw_cfg_file *f = directory.file; f < directory.file + count; f++)
		if (strncmp(f->name, name, sizeof(f->name)) == 0) {
			outw(FW_CFG_SELECTOR, __builtin_bswap16(f->select));
			return __builtin_bswap32(f->size);
		}
	return -ENOENT;
}

int fw_cfg_read_string(const char *name, char *buf, size_t size)
{
	s64 len = fw_cfg_open(name);

	if (len < 0)
		return (int)len;
	memset(buf, 0, size);
	fw_cfg_read(buf, MIN((size_t)len, size - 1));
	return (int)MIN(len, INT32_MAX);
}
