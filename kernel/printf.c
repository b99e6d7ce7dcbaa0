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

static void put_signed(struct out *o, const struct spec *s)
{
	s64 value = s->is_long ? va_arg(o->args, long) : va_arg(o->args, int);

	put_number(o, s, value < 0 ? -(u64)value : (u64)value, 10, value < 0);
}

static void put_unsigned(struct out *o, const struct spec *s, unsigned base)
{
	put_number(o, s, s->is_long ? va_arg(o->args, u64) : va_arg(o->args, u32), base, false);
}

static void put_string(struct out *o, const struct spec *s)
{
	const char *text = va_arg(o->args, const char *);

	if (!text)
		text = "(null)";
	put_text(o, s, text, strlen(text));
}

static void put_char(struct out *o, const struct spec *s)
{
	char c = (char)va_arg(o->args, int);

	put_text(o, s, &c, 1);
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

/* One conversion; an unknown one prints its letter and takes no argument. */
static void convert(struct out *o, struct spec *s, char conversion)
{
	switch (conversion) {
	case 'd': put_signed(o, s); break;
	case 'u': put_unsigned(o, s, 10); break;
	case 'x': put_unsigned(o, s, 16); break;
	case 's': put_string(o, s); break;
	case 'c': put_char(o, s); break;
	case 'p':
		s->is_long = true;
		put(o, '0');
		put(o, 'x');
		put_unsigned(o, s, 16);
		break;
	default: put(o, conversion);
	}
}

int vsnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
	struct out o = { .buf = buf, .size = size };

	va_copy(o.args, args);
	for (; *fmt; fmt++) {
		struct spec s = { 0 };

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
