/*
 * gen.h - generated files: /gen/<MiB> and /gen/<MiB>.<n>.
 *
 * They hold what user/lib/gen.h defines and take no memory per page. The cookie alone says which
 * file it is, so a page can be made even after the server has forgotten the node.
 */
#ifndef USER_FS_GEN_H
#define USER_FS_GEN_H

#include "user/fs/node.h"
#include "user/fs/text.h"

extern const struct node_class gen_class;

/* The node for a name like "64" or "64.3". 0, -ENOENT, or -ENOMEM. */
int gen_find(const char *name, struct node **node);

/* Appends the names of the files that are open or were lately. */
void gen_list(struct text *out);

#endif
