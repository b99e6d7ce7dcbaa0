/* words.c - cutting command lines into words, and finding the command that was meant. */
#include "user/monitor/words.h"

#include <string.h>

#define NEAR_LENGTH 24

int words_split(char *text, char *words[MAX_WORDS + 1])
{
	int count = 0;

	for (;;) {
		text += strspn(text, " \t");
		if (*text == '\0')
			break;
		if (count == MAX_WORDS)
			return -1;
		words[count++] = text;
		text += strcspn(text, " \t");
		if (*text != '\0')
			*text++ = '\0';
	}
	words[count] = NULL;
	return count;
}

char *words_next_command(const char **script, char *out, size_t size)
{
	size_t length, kept;

	if (**script == '\0')
		return NULL;
	length = strcspn(*script, ";");
	kept = length < size ? length : size - 1;
	for (size_t i = 0; i < kept; i++)
		out[i] = (*script)[i] == '+' ? ' ' : (*script)[i];
	out[kept] = '\0';
	*script += length + ((*script)[length] == ';');
	return out;
}

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Levenshtein's distance: insertions, deletions and replacements from a to b. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[NEAR_LENGTH + 1];
	size_t columns = strlen(b);

	if (strlen(a) > NEAR_LENGTH || columns > NEAR_LENGTH)
		return ~0U;
	for (unsigned int j = 0; j <= columns; j++)
		row[j] = j;
	for (unsigned int i = 0; a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0] = i + 1;
		for (unsigned int j = 1; j <= columns; j++) {
			unsigned int above = row[j];

			row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[columns];
}

const char *words_nearest(const char *word, const char *const *candidates)
{
	unsigned int best = strlen(word) < 4 ? 2 : 3; /* exclusive: more is a different word */
	const char *nearest = NULL;

	for (; *candidates; candidates++) {
		unsigned int d = distance(word, *candidates);

		if (d < best) {
			best = d;
			nearest = *candidates;
		}
	}
	return nearest;
}
