#include "kernel/printf.h"

#include "kernel/lib.h"

#define NUMBER_MAX 32 /* digits, sign and leading zeros of one number */

struct out {
	char *buf;
	size_t size, len; /* len counts what would have been written */
	va_list args;
};

struct spec {
	bool left, zero, is_long;
	size_t width;
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

static void put_text(struct out *o, const struct spec *s, const char *text, size_t len)
{
	for (size_t n = len; !s->left && n < s->width; n++)
		put(o, ' ');
	for (size_t i = 0; i < len; i++)
		put(o, text[i]);
	for (size_t n = len; s->left && n < s->width; n++)
		put(o, ' ');
}

static void put_number(struct out *o, const struct spec *s, u64 value, unsigned base, bool negative)
{
	char text[NUMBER_MAX];
	size_t len = 0, min = s->zero && !s->left ? MIN(s->width, NUMBER_MAX) : 0;

	do {
		text[NUMBER_MAX - ++len] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value || len + negative < min);
	if (negative)
		text[NUMBER_MAX - ++len] = '-';
	put_text(o, s, text + NUMBER_MAX - len, len);
}

/* Everything between % and the conversion letter, to which the result points. */
static const char *parse_spec(const char *f, struct spec *s)
{
	for (; *f == '-' || *f == '0'; f++) {
		s->left |= *f == '-';
		s->zero |= *f == '0';
	}
	for (; *f >= '0' && *f <= '9'; f++)
		s->width = MIN(s->width * 10 + (size_t)(*f - '0'), 1000);
	for (; *f == 'l' || *f == 'z'; f++)
		s->is_long = true;
	return f;
}

static u64 number_arg(struct out *o, const struct spec *s, bool sign)
{
	if (s->is_long)
		return va_arg(o->args, u64);
	return sign ? (u64)va_arg(o->args, int) : va_arg(o->args, unsigned);
}

/* One conversion; an unknown one prints its letter and takes no argument. */
static void convert(struct out *o, const struct spec *s, char conversion)
{
	const char *text = &conversion;
	s64 value;

	switch (conversion) {
	case 'd':
		value = (s64)number_arg(o, s, true);
		put_number(o, s, value < 0 ? -(u64)value : (u64)value, 10, value < 0);
		return;
	case 'u':
		put_number(o, s, number_arg(o, s, false), 10, false);
		return;
	case 'x':
		put_number(o, s, number_arg(o, s, false), 16, false);
		return;
	case 'p':
		put_text(o, &(struct spec){0}, "0x", 2);
		put_number(o, s, (u64)va_arg(o->args, void *), 16, false);
		return;
	case 's':
		text = va_arg(o->args, const char *);
		text = text ? text : "(null)";
		put_text(o, s, text, strlen(text));
		return;
	case 'c':
		conversion = (char)va_arg(o->args, int);
		/* fall through */
	default:
		put_text(o, s, text, 1);
	}
}

int vsnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
	struct out o = {.buf = buf, .size = size};

	va_copy(o.args, args);
	for (; *fmt; fmt++) {
		struct spec s = {0};

		if (*fmt != '%') {
			put(&o, *fmt);
			continue;
		}
		fmt = parse_spec(fmt + 1, &s);
		if (!*fmt)
			break;
		convert(&o, &s, *fmt);
	}
	va_end(o.args);
	if (size > 0)
		buf[MIN(o.len, size - 1)] = '\0';
	return (int)o.len;
}

int snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(buf, size, fmt, args);
	va_end(args);
	return len;
}
