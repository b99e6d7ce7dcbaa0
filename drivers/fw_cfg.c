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
	u32 size; /* big-endian, like select */
	u16 select, reserved;
	char name[56];
};

static void select(u16 key)
{
	outw(FW_CFG_SELECTOR, key);
}

static void read_bytes(void *buf, size_t len)
{
	for (u8 *p = buf; len > 0; len--)
		*p++ = inb(FW_CFG_DATA);
}

static bool present(void)
{
	char signature[4];

	select(KEY_SIGNATURE);
	read_bytes(signature, sizeof(signature));
	return memcmp(signature, "QEMU", 4) == 0;
}

static int find(const char *name, struct fw_cfg_file *file)
{
	u32 count;

	select(KEY_DIRECTORY);
	read_bytes(&count, sizeof(count));
	count = MIN(__builtin_bswap32(count), MAX_FILES);
	while (count-- > 0) {
		read_bytes(file, sizeof(*file));
		if (strncmp(file->name, name, sizeof(file->name)) == 0)
			return 0;
	}
	return -ENOENT;
}

int fw_cfg_read_string(const char *name, char *buf, size_t size)
{
	struct fw_cfg_file file;
	size_t len;

	if (!present())
		return -ENODEV;
	if (find(name, &file) < 0)
		return -ENOENT;
	len = __builtin_bswap32(file.size);
	select(__builtin_bswap16(file.select));
	read_bytes(buf, MIN(len, size - 1));
	buf[MIN(len, size - 1)] = '\0';
	return (int)MIN(len, INT32_MAX);
}
