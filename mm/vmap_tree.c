/* vmap_tree.c - an AVL tree of ranges that knows its largest hole (see vmap_tree.h). */
#include "mm/vmap_tree.h"
#include "kernel/log.h"

#define MAX_HEIGHT 48 /* of an AVL tree with 2^32 nodes: 1.44 times 32 */

static u32 height(const struct vmap_node *n)
{
	return n ? n->height : 0;
}

/* What a node says of its subtree, from what its children say; false: as before. */
static bool update(struct vmap_node *n)
{
	const struct vmap_node *l = n->child[0], *r = n->child[1];
	u64 below = l ? MAX(l->max_gap, n->start - l->high) : 0;
	u64 above = r ? MAX(r->max_gap, r->low - n->end) : 0;
	u64 low = l ? l->low : n->start, high = r ? r->high : n->end, gap = MAX(below, above);
	u32 tall = 1 + MAX(height(l), height(r));

	if (n->height == tall && n->low == low && n->high == high && n->max_gap == gap)
		return false;
	n->height = tall;
	n->low = low;
	n->high = high;
	n->max_gap = gap;
	return true;
}

/* n goes down to that side, its other child comes up in its place. */
static struct vmap_node *rotate(struct vmap_node *n, int side)
{
	struct vmap_node *up = n->child[!side];

	n->child[!side] = up->child[side];
	up->child[side] = n;
	(void)update(n);
	(void)update(up);
	return up;
}

/* One side is two higher than the other: the new root of the subtree. */
static struct vmap_node *lift(struct vmap_node *n, int heavy)
{
	struct vmap_node *c = n->child[heavy];

	if (height(c->child[!heavy]) > height(c->child[heavy]))
		n->child[heavy] = rotate(c, heavy);
	return rotate(n, !heavy);
}

/* From below a change up to the root, or to where it makes no difference any more. */
static void repair(struct vmap_node **path[], unsigned depth)
{
	while (depth--) {
		struct vmap_node *n = *path[depth];
		int lean = (int)height(n->child[1]) - (int)height(n->child[0]);
		bool changed = update(n);

		if (lean < -1 || lean > 1)
			*path[depth] = lift(n, lean > 0);
		else if (!changed)
			return;
	}
}

void vmap_tree_insert(struct vmap_tree *tree, struct vmap_node *node)
{
	struct vmap_node **path[MAX_HEIGHT], **at = &tree->root, *n;
	unsigned depth = 0;

	ASSERT(node->start >= tree->start && node->end <= tree->end && node->start < node->end,
	       "addresses %lx-%lx are not of this space", node->start, node->end);
	while ((n = *at)) {
		ASSERT(node->end <= n->start || node->start >= n->end,
		       "addresses %lx-%lx are part of %lx-%lx", node->start, node->end, n->start, n->end);
		path[depth++] = at;
		at = &n->child[node->start >= n->end];
	}
	node->child[0] = node->child[1] = NULL;
	node->height = 0;
	(void)update(node);
	*at = node;
	repair(path, depth);
}

/* The next one in order takes the place of a node that has something to its right. */
static unsigned replace_by_next(struct vmap_node **at, struct vmap_node **path[], unsigned depth)
{
	struct vmap_node *gone = *at, **lowest = &gone->child[1], *next;
	unsigned below = depth + 1;

	path[depth++] = at;
	for (; (*lowest)->child[0]; lowest = &(*lowest)->child[0])
		path[depth++] = lowest;
	next = *lowest;
	*lowest = next->child[1];
	next->child[0] = gone->child[0];
	next->child[1] = gone->child[1];
	next->low = gone->low; /* what those above know of this place */
	next->high = gone->high;
	next->max_gap = gone->max_gap;
	next->height = gone->height;
	*at = next;
	if (depth > below)
		path[below] = &next->child[1];
	return depth;
}

void vmap_tree_remove(struct vmap_tree *tree, struct vmap_node *node)
{
	struct vmap_node **path[MAX_HEIGHT], **at = &tree->root, *n;
	unsigned depth = 0;

	while ((n = *at) != node) {
		ASSERT(n, "addresses %lx-%lx are not in the tree", node->start, node->end);
		path[depth++] = at;
		at = &n->child[node->start > n->start];
	}
	if (node->child[1])
		depth = replace_by_next(at, path, depth);
	else
		*at = node->child[0];
	repair(path, depth);
}

struct vmap_node *vmap_tree_find(const struct vmap_tree *tree, u64 addr)
{
	struct vmap_node *n = tree->root;

	while (n && (addr < n->start || addr >= n->end))
		n = n->child[addr >= n->end];
	return n;
}

/* The largest hole from `low` to the start of n: beside and inside of its left subtree. */
static u64 largest_below(const struct vmap_node *n, u64 low)
{
	const struct vmap_node *l = n->child[0];

	return l ? MAX(MAX(l->low - low, l->max_gap), n->start - l->high) : n->start - low;
}

u64 vmap_tree_find_hole(const struct vmap_tree *tree, u64 bytes, u64 align)
{
	u64 low = tree->start, high = tree->end, wanted = bytes + align - PAGE_SIZE;
	const struct vmap_node *n = tree->root;

	while (n) {
		if (largest_below(n, low) >= wanted) {
			high = n->start;
			n = n->child[0];
		} else {
			low = n->end;
			n = n->child[1];
		}
	}
	return wanted >= bytes && high - low >= wanted ? ALIGN_UP(low, align) : 0;
}
