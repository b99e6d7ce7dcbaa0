#include "kernel/cmdline.h"

#include "kernel/errno.h"
#include "kernel/lib.h"

static char cmdline[CMDLINE_MAX];

int cmdline_set(const char *text)
{
	return strlcpy(cmdline, text, sizeof(cmdline)) >= sizeof(cmdline) ? -E2BIG : 0;
}

const char *cmdline_text(void)
{
	return cmdline;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	while (s[n] && !is_blank(s[n]))
		n++;
	return n;
}

/* What follows the key in the last word that is `key` or `key=...`; NULL if there is none. */
static const char *find(const char *key, bool with_value)
{
	size_t key_len = strlen(key);
	const char *found = NULL;

	for (const char *s = cmdline; *s; s += MAX(word_length(s), 1UL)) {
		char end = strncmp(s, key, key_len) == 0 ? s[key_len] : 'x';

		if (end == '=' || (!with_value && (!end || is_blank(end))))
			found = s + key_len;
	}
	return found;
}

bool cmdline_has(const char *key)
{
	return find(key, false) != NULL;
}

int cmdline_get(const char *key, char *buf, size_t size)
{
	const char *value = find(key, true);
	size_t len = value ? word_length(++value) : 0;

	strlcpy(buf, value ? value : "", MIN(size, len + 1));
	if (!value)
		return -ENOENT;
	return len < size ? (int)len : -E2BIG;
}

int cmdline_get_u64(const char *key, u64 *value)
{
	char text[32];
	int len = cmdline_get(key, text, sizeof(text));

	if (len < 0)
		return len == -E2BIG ? -EINVAL : len;
	return parse_u64(text, value);
}
