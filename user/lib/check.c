/* check.c - programs that check what the kernel answers (see check.h). */
#include "user/lib/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/lib/args.h"
#include "user/lib/gather.h"

static unsigned int checks, failed;

static void count(bool right)
{
	checks++;
	failed += !right;
}

static const char *text_of(long result)
{
	return result == -1 ? strerror(errno) : "no error";
}

void check_fails(const char *call, long result, int error)
{
	bool right = result == -1 && errno == error;

	count(right);
	if (!right)
		printf("not as on Linux: %s: %ld (%s) where %s is right\n", call, result,
		       text_of(result), strerror(error));
}

void check_returns(const char *call, long result, long expected)
{
	count(result == expected);
	if (result != expected)
		printf("not as on Linux: %s: %ld (%s) where %ld is right\n", call, result,
		       text_of(result), expected);
}

void check_that(bool so, const char *what)
{
	count(so);
	if (!so)
		printf("not as on Linux: it should be so that %s\n", what);
}

bool check_on_gather(void)
{
	struct info_system info;

	return gather_info(INFO_SYSTEM, &info, sizeof(info)) >= 0;
}

int check_done(const char *program)
{
	printf("RESULT workload=%s checks=%u failed=%u\n", program, checks, failed);
	return failed ? EXIT_BAD_DATA : EXIT_VERIFIED;
}
