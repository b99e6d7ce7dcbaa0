/*
 * words.h - cutting command lines into words, and finding the command that was meant.
 *
 * Pure.
 */
#ifndef USER_MONITOR_WORDS_H
#define USER_MONITOR_WORDS_H

#include <stddef.h>

#define MAX_WORDS 32

/*
 * Cuts text at blanks, in place. words[] gets at most MAX_WORDS and a NULL. Returns how many, or
 * -1 when there are more.
 */
int words_split(char *text, char *words[MAX_WORDS + 1]);

/*
 * Takes the next command of a boot command ("a+b;c": ';' separates, '+' is a space) from *script
 * and writes it to out, cut to size. Returns out, or NULL at the end of the script.
 */
char *words_next_command(const char **script, char *out, size_t size);

/* Of the candidates (ends with NULL) the one nearest to word, or NULL when none is near. */
const char *words_nearest(const char *word, const char *const *candidates);

#endif
