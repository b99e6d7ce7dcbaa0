#include "kernel/printf.h"

#include "kernel/lib.h"

struct out {
	char *buf;
	size_t size, len; /* len counts what would have been written */
};

struct spec {
	bool left, zero, plus, space, alt;
	int width, precision; /* precision < 0: none given */
	int length;	      /* -2 hh, -1 h, 0 int, 1 and more 64 bits */
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

static void put_repeated(struct out *o, char c, int n)
{
	while (n-- > 0)
		put(o, c);
}

/* prefix, zeros and digits are kept together; blanks pad on one side. */
static void put_padded(struct out *o, const struct spec *s, const char *prefix, int zeros,
		       const char *text, int len)
{
	int prefix_len = (int)strlen(prefix);
	int pad = s->width - prefix_len - zeros - len;

	if (!s->left)
		put_repeated(o, ' ', pad);
	while (*prefix)
		put(o, *prefix++);
	put_repeated(o, '0', zeros);
	for (int i = 0; i < len; i++)
		put(o, text[i]);
	if (s->left)
		put_repeated(o, ' ', pad);
}

static void put_number(struct out *o, const struct spec *s, u64 value, unsigned base, bool upper,
		       const char *prefix)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[24];
	int pos = sizeof(text), len, zeros;

	for (u64 v = value; v; v /= base)
		text[--pos] = digits[v % base];
	if (value == 0 && s->precision != 0)
		text[--pos] = '0';
	len = (int)sizeof(text) - pos;
	zeros = MAX(s->precision - len, 0);
	if (s->zero && !s->left && s->precision < 0)
		zeros = MAX(s->width - len - (int)strlen(prefix), 0);
	put_padded(o, s, prefix, zeros, text + pos, len);
}

static s64 signed_arg(const struct spec *s, va_list *args)
{
	switch (s->length) {
	case -2: return (signed char)va_arg(*args, int);
	case -1: return (short)va_arg(*args, int);
	case 0: return va_arg(*args, int);
	default: return va_arg(*args, long);
	}
}

static u64 unsigned_arg(const struct spec *s, va_list *args)
{
	switch (s->length) {
	case -2: return (u8)va_arg(*args, int);
	case -1: return (u16)va_arg(*args, int);
	case 0: return va_arg(*args, unsigned);
	default: return va_arg(*args, unsigned long);
	}
}

static void put_signed(struct out *o, const struct spec *s, va_list *args)
{
	s64 value = signed_arg(s, args);
	u64 magnitude = value < 0 ? -(u64)value : (u64)value;

	put_number(o, s, magnitude, 10, false,
		   value < 0 ? "-" : s->plus ? "+" : s->space ? " " : "");
}

static void put_string(struct out *o, const struct spec *s, const char *text)
{
	if (!text)
		text = "(null)";
	put_padded(o, s, "", 0, text,
		   (int)strnlen(text, s->precision < 0 ? SIZE_MAX : (size_t)s->precision));
}

static void put_hex_or_octal(struct out *o, const struct spec *s, char conversion, va_list *args)
{
	u64 value = unsigned_arg(s, args);
	const char *prefix = "";

	if (s->alt && value)
		prefix = conversion == 'x' ? "0x" : conversion == 'X' ? "0X" : "0";
	put_number(o, s, value, conversion == 'o' ? 8 : 16, conversion == 'X', prefix);
}

static const char *parse_flags(const char *f, struct spec *s)
{
	for (;; f++) {
		switch (*f) {
		case '-': s->left = true; break;
		case '0': s->zero = true; break;
		case '+': s->plus = true; break;
		case ' ': s->space = true; break;
		case '#': s->alt = true; break;
		default: return f;
		}
	}
}

static const char *parse_count(const char *f, int *count, va_list *args)
{
	if (*f == '*') {
		*count = va_arg(*args, int);
		return f + 1;
	}
	for (*count = 0; *f >= '0' && *f <= '9'; f++)
		if (*count < 10000)
			*count = *count * 10 + (*f - '0');
	return f;
}

/* Everything between % and the conversion letter, to which the result points. */
static const char *parse_spec(const char *f, struct spec *s, va_list *args)
{
	f = parse_flags(f, s);
	f = parse_count(f, &s->width, args);
	if (s->width < 0) {
		s->left = true;
		s->width = -s->width;
	}
	if (*f == '.')
		f = parse_count(f + 1, &s->precision, args);
	for (; *f == 'l' || *f == 'z' || *f == 'h'; f++)
		s->length += *f == 'h' ? -1 : 1;
	return f;
}

/* One conversion; false if it is not known. */
static bool convert(struct out *o, const struct spec *s, char conversion, va_list *args)
{
	char c;

	switch (conversion) {
	case 'd': case 'i': put_signed(o, s, args); return true;
	case 'u': put_number(o, s, unsigned_arg(s, args), 10, false, ""); return true;
	case 'x': case 'X': case 'o': put_hex_or_octal(o, s, conversion, args); return true;
	case 'p': put_number(o, s, (u64)va_arg(*args, void *), 16, false, "0x"); return true;
	case 's': put_string(o, s, va_arg(*args, const char *)); return true;
	case 'c':
		c = (char)va_arg(*args, int);
		put_padded(o, s, "", 0, &c, 1);
		return true;
	case '%': put(o, '%'); return true;
	default: return false;
	}
}

int vsnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
	struct out o = { buf, size, 0 };
	va_list ap;

	va_copy(ap, args);
	while (*fmt) {
		struct spec s = { .precision = -1 };
		const char *start = fmt++;

		if (*start != '%') {
			put(&o, *start);
			continue;
		}
		fmt = parse_spec(fmt, &s, &ap);
		if (convert(&o, &s, *fmt, &ap))
			fmt++;
		else
			while (start < fmt)
				put(&o, *start++);
	}
	va_end(ap);
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

int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(buf, size, fmt, args);
	va_end(args);
	return size == 0 ? 0 : MIN(len, (int)size - 1);
}
