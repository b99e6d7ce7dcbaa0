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

/* The last word that is `key` or `key=...`, behind the key; NULL if there is none. */
static const char *find(const char *key, bool with_value)
{
	size_t key_len = strlen(key);
	const char *found = NULL;

	for (const char *s = cmdline; *s;) {
		size_t len = word_length(s);

		if (len >= key_len && strncmp(s, key, key_len) == 0 &&
		    (s[key_len] == '=' || (len == key_len && !with_value)))
			found = s + key_len;
		s += len;
		while (is_blank(*s))
			s++;
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
	size_t len, fits;

	if (size > 0)
		buf[0] = '\0';
	if (!value)
		return -ENOENT;
	value++;
	len = word_length(value);
	if (size == 0)
		return -E2BIG;
	fits = MIN(len, size - 1);
	memcpy(buf, value, fits);
	buf[fits] = '\0';
	return fits < len ? -E2BIG : (int)len;
}

int cmdline_get_u64(const char *key, u64 *value)
{
	char text[32];
	int len = cmdline_get(key, text, sizeof(text));

	if (len == -E2BIG)
		return -EINVAL;
	return len < 0 ? len : parse_u64(text, value);
}
