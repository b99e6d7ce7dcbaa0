/*
 * line.h - a line editor for a raw terminal, fed one byte at a time.
 *
 * Pure: it reads and writes nothing itself; what the terminal should show goes to a function.
 * Keys: left right home end, backspace delete, ^A ^E ^B ^F ^H ^D ^U ^K ^W ^L, up down ^P ^N for
 * the history, tab to complete the first word. Lines longer than the screen are not wrapped back.
 */
#ifndef USER_MONITOR_LINE_H
#define USER_MONITOR_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_SIZE    256 /* with its NUL */
#define LINE_HISTORY 32

struct line_editor {
	/* Set by line_init, constant after it. */
	void (*show)(void *context, const char *bytes, size_t length);
	void *context;
	const char *prompt;
	const char *const *words; /* for tab; ends with NULL */

	/* The line being edited; the text is always NUL-terminated. */
	char text[LINE_SIZE];
	size_t length;
	size_t cursor;

	/* An escape sequence being received. */
	enum { ESC_NONE, ESC_STARTED, ESC_BRACKET } escape;
	unsigned int escape_number;

	char history[LINE_HISTORY][LINE_SIZE]; /* a ring */
	unsigned int history_count; /* lines ever added */
	unsigned int history_back;  /* how far up the user has gone; 0: the line typed */
	char typed[LINE_SIZE];      /* what was typed before going up */
	bool last_was_cr;
};

void line_init(struct line_editor *ed, const char *prompt, const char *const *words,
	       void (*show)(void *context, const char *bytes, size_t length), void *context);

/* Shows the prompt and begins an empty line. */
void line_start(struct line_editor *ed);

/*
 * Takes one byte from the terminal. True when it ended the line: ed->text holds it, it is in the
 * history unless blank or a repetition, and line_start begins the next.
 */
bool line_input(struct line_editor *ed, unsigned char byte);

#endif
