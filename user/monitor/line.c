/* line.c - a line editor for a raw terminal, fed one byte at a time. */
#include "user/monitor/line.h"

#include <stdio.h>
#include <string.h>

#define CTRL(c)    ((c) & 0x1f)
#define KEY_ESC    0x1b
#define KEY_DELETE 0x7f

/* ---- Showing ------------------------------------------------------------------------------ */

static void show(struct line_editor *ed, const char *s)
{
	ed->show(ed->context, s, strlen(s));
}

/* Draws the whole line again and puts the cursor in its place. */
static void redraw(struct line_editor *ed)
{
	char move[32];

	show(ed, "\r");
	show(ed, ed->prompt);
	show(ed, ed->text);
	show(ed, "\x1b[K");
	if (ed->cursor < ed->length) {
		snprintf(move, sizeof(move), "\x1b[%zuD", ed->length - ed->cursor);
		show(ed, move);
	}
}

/* ---- Changing the text -------------------------------------------------------------------- */

static void set_text(struct line_editor *ed, const char *text)
{
	ed->length = strnlen(text, LINE_SIZE - 1);
	memmove(ed->text, text, ed->length);
	ed->text[ed->length] = '\0';
	ed->cursor = ed->length;
	redraw(ed);
}

static void erase(struct line_editor *ed, size_t from, size_t to)
{
	memmove(ed->text + from, ed->text + to, ed->length - to + 1);
	ed->length -= to - from;
	ed->cursor = from;
	redraw(ed);
}

/* A full line takes no more. At the end of the line only the new character need be shown. */
static void insert(struct line_editor *ed, char c)
{
	char echo[2] = { c, '\0' };

	if (ed->length + 1 >= LINE_SIZE)
		return;
	memmove(ed->text + ed->cursor + 1, ed->text + ed->cursor, ed->length - ed->cursor + 1);
	ed->text[ed->cursor++] = c;
	ed->length++;
	if (ed->cursor == ed->length)
		show(ed, echo);
	else
		redraw(ed);
}

static void move_to(struct line_editor *ed, size_t cursor)
{
	ed->cursor = cursor;
	redraw(ed);
}

static void left(struct line_editor *ed)
{
	if (ed->cursor > 0)
		move_to(ed, ed->cursor - 1);
}

static void right(struct line_editor *ed)
{
	if (ed->cursor < ed->length)
		move_to(ed, ed->cursor + 1);
}

static void backspace(struct line_editor *ed)
{
	if (ed->cursor > 0)
		erase(ed, ed->cursor - 1, ed->cursor);
}

static void delete(struct line_editor *ed)
{
	size_t cursor = ed->cursor;

	if (cursor < ed->length)
		erase(ed, cursor, cursor + 1);
}

static void erase_word(struct line_editor *ed)
{
	size_t from = ed->cursor;

	while (from > 0 && ed->text[from - 1] == ' ')
		from--;
	while (from > 0 && ed->text[from - 1] != ' ')
		from--;
	erase(ed, from, ed->cursor);
}

/* ---- History ------------------------------------------------------------------------------ */

static char *history_line(struct line_editor *ed, unsigned int back)
{
	return ed->history[(ed->history_count - back) % LINE_HISTORY];
}

static void go_up(struct line_editor *ed)
{
	unsigned int kept = ed->history_count < LINE_HISTORY ? ed->history_count : LINE_HISTORY;

	if (ed->history_back == kept)
		return;
	if (ed->history_back == 0)
		memcpy(ed->typed, ed->text, LINE_SIZE);
	set_text(ed, history_line(ed, ++ed->history_back));
}

static void go_down(struct line_editor *ed)
{
	if (ed->history_back == 0)
		return;
	ed->history_back--;
	set_text(ed, ed->history_back ? history_line(ed, ed->history_back) : ed->typed);
}

static void remember(struct line_editor *ed)
{
	if (ed->text[strspn(ed->text, " ")] == '\0')
		return;
	if (ed->history_count > 0 && strcmp(history_line(ed, 1), ed->text) == 0)
		return;
	memcpy(ed->history[ed->history_count++ % LINE_HISTORY], ed->text, LINE_SIZE);
}

/* ---- Completion --------------------------------------------------------------------------- */

static bool matches(const struct line_editor *ed, const char *word)
{
	return strncmp(word, ed->text, ed->length) == 0;
}

/* How many words match, and in *first and *common the first and what all of them share. */
static unsigned int count_matches(const struct line_editor *ed, const char **first, size_t *common)
{
	unsigned int count = 0;

	for (const char *const *word = ed->words; *word; word++) {
		size_t same = 0;

		if (!matches(ed, *word))
			continue;
		if (count++ == 0) {
			*first = *word;
			*common = strlen(*word);
		}
		while (same < *common && (*word)[same] == (*first)[same])
			same++;
		*common = same;
	}
	return count;
}

static void show_matches(struct line_editor *ed)
{
	show(ed, "\n");
	for (const char *const *word = ed->words; *word; word++) {
		if (!matches(ed, *word))
			continue;
		show(ed, *word);
		show(ed, "  ");
	}
	show(ed, "\n");
	redraw(ed);
}

static void complete(struct line_editor *ed)
{
	const char *word = NULL;
	size_t common = 0, had = ed->length;
	unsigned int count;

	if (ed->cursor != ed->length || strchr(ed->text, ' '))
		return;
	count = count_matches(ed, &word, &common);
	for (size_t i = had; i < common; i++)
		insert(ed, word[i]);
	if (count == 1)
		insert(ed, ' ');
	else if (count > 1 && common == had)
		show_matches(ed);
}

/* ---- Keys --------------------------------------------------------------------------------- */

static void control_key(struct line_editor *ed, unsigned char byte)
{
	switch (byte) {
	case CTRL('A'): move_to(ed, 0); break;
	case CTRL('B'): left(ed); break;
	case CTRL('D'): delete(ed); break;
	case CTRL('E'): move_to(ed, ed->length); break;
	case CTRL('F'): right(ed); break;
	case CTRL('H'):
	case KEY_DELETE: backspace(ed); break;
	case CTRL('I'): complete(ed); break;
	case CTRL('K'): erase(ed, ed->cursor, ed->length); break;
	case CTRL('L'): redraw(ed); break;
	case CTRL('N'): go_down(ed); break;
	case CTRL('P'): go_up(ed); break;
	case CTRL('U'): erase(ed, 0, ed->cursor); break;
	case CTRL('W'): erase_word(ed); break;
	case KEY_ESC: ed->escape = ESC_STARTED; break;
	default: break;
	}
}

/* "ESC [ number ~": what terminals send for keys that have no letter. */
static void numbered_key(struct line_editor *ed)
{
	switch (ed->escape_number) {
	case 1:
	case 7: move_to(ed, 0); break;
	case 3: delete(ed); break;
	case 4:
	case 8: move_to(ed, ed->length); break;
	default: break;
	}
}

static void final_byte(struct line_editor *ed, unsigned char byte)
{
	switch (byte) {
	case 'A': go_up(ed); break;
	case 'B': go_down(ed); break;
	case 'C': right(ed); break;
	case 'D': left(ed); break;
	case 'F': move_to(ed, ed->length); break;
	case 'H': move_to(ed, 0); break;
	case '~': numbered_key(ed); break;
	default: break;
	}
}

static void escape_byte(struct line_editor *ed, unsigned char byte)
{
	if (ed->escape == ESC_STARTED) {
		ed->escape = byte == '[' || byte == 'O' ? ESC_BRACKET : ESC_NONE;
		ed->escape_number = 0;
	} else if (byte >= '0' && byte <= '9') {
		ed->escape_number = (ed->escape_number * 10 + byte - '0') % 1000;
	} else if (byte >= 0x40 && byte <= 0x7e) { /* ECMA-48: a final byte ends the sequence */
		ed->escape = ESC_NONE;
		final_byte(ed, byte);
	}
}

static bool end_line(struct line_editor *ed)
{
	show(ed, "\n");
	remember(ed);
	return true;
}

/* ---- The interface ------------------------------------------------------------------------ */

void line_init(struct line_editor *ed, const char *prompt, const char *const *words,
	       void (*show_function)(void *, const char *, size_t), void *context)
{
	memset(ed, 0, sizeof(*ed));
	ed->prompt = prompt;
	ed->words = words;
	ed->show = show_function;
	ed->context = context;
}

void line_start(struct line_editor *ed)
{
	ed->text[0] = '\0';
	ed->length = ed->cursor = 0;
	ed->escape = ESC_NONE;
	ed->history_back = 0;
	show(ed, ed->prompt);
}

bool line_input(struct line_editor *ed, unsigned char byte)
{
	bool after_cr = ed->last_was_cr;

	ed->last_was_cr = byte == '\r';
	if (byte == '\n' && after_cr)
		return false; /* CR LF is one end of line */
	if (byte == '\r' || byte == '\n')
		return end_line(ed);
	if (ed->escape != ESC_NONE)
		escape_byte(ed, byte);
	else if (byte >= ' ' && byte < KEY_DELETE)
		insert(ed, (char)byte);
	else
		control_key(ed, byte);
	return false;
}
