/* vmap_tree.c - an AVL tree of ranges that knows its largest hole (see vmap_tree.h). */
#include "mm/vmap_tree.h"
#include "kernel/log.h"

static u32 height(const struct vmap_node *n)
{
	return n ? n->height : 0;
}

/* What a node says of its subtree, from what its children say. */
static void update(struct vmap_node *n)
{
	const struct vmap_node *l = n->child[0], *r = n->child[1];
	u64 below = l ? MAX(l->max_gap, n->start - l->high) : 0;
	u64 above = r ? MAX(r->max_gap, r->low - n->end) : 0;

	n->height = 1 + MAX(height(l), height(r));
	n->low = l ? l->low : n->start;
	n->high = r ? r->high : n->end;
	n->max_gap = MAX(below, above);
}

/* n goes down to that side, its other child comes up in its place. */
static struct vmap_node *rotate(struct vmap_node *n, int side)
{
	struct vmap_node *up = n->child[!side];

	n->child[!side] = up->child[side];
	up->child[side] = n;
	update(n);
	update(up);
	return up;
}

/* A child's height has changed by one at most: the root of the subtree afterwards. */
static struct vmap_node *balance(struct vmap_node *n)
{
	int lean = (int)height(n->child[1]) - (int)height(n->child[0]);
	int heavy = lean > 0;
	struct vmap_node *c = n->child[heavy];

	update(n);
	if (lean >= -1 && lean <= 1)
		return n;
	if (height(c->child[!heavy]) > height(c->child[heavy]))
		n->child[heavy] = rotate(c, heavy);
	return rotate(n, !heavy);
}

static struct vmap_node *insert(struct vmap_node *n, struct vmap_node *new)
{
	int side;

	if (!n)
		return new;
	ASSERT(new->end <= n->start || new->start >= n->end, "addresses %lx-%lx are part of %lx-%lx",
	       new->start, new->end, n->start, n->end);
	side = new->start >= n->end;
	n->child[side] = insert(n->child[side], new);
	return balance(n);
}

static struct vmap_node *take_lowest(struct vmap_node *n, struct vmap_node **lowest)
{
	if (!n->child[0]) {
		*lowest = n;
		return n->child[1];
	}
	n->child[0] = take_lowest(n->child[0], lowest);
	return balance(n);
}

static struct vmap_node *take_out(struct vmap_node *n, const struct vmap_node *gone)
{
	struct vmap_node *next;
	int side;

	ASSERT(n, "addresses %lx-%lx are not in the tree", gone->start, gone->end);
	if (n != gone) {
		side = gone->start > n->start;
		n->child[side] = take_out(n->child[side], gone);
		return balance(n);
	}
	if (!n->child[1])
		return n->child[0];
	n->child[1] = take_lowest(n->child[1], &next); /* which takes the place of n */
	next->child[0] = n->child[0];
	next->child[1] = n->child[1];
	return balance(next);
}

void vmap_tree_insert(struct vmap_tree *tree, struct vmap_node *node)
{
	ASSERT(node->start >= tree->start && node->end <= tree->end && node->start < node->end,
	       "addresses %lx-%lx are not of this space", node->start, node->end);
	node->child[0] = node->child[1] = NULL;
	update(node);
	tree->root = insert(tree->root, node);
}

void vmap_tree_remove(struct vmap_tree *tree, struct vmap_node *node)
{
	tree->root = take_out(tree->root, node);
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
