/*
 * vmap_tree.h - ranges of addresses in order, and the lowest hole that is large enough.
 *
 * An AVL tree of the ranges that are taken. Nothing describes the holes: they are what lies between
 * neighbours, so giving a range out or back never needs memory for the pieces. To find a hole
 * without looking at every range, each node sums up its subtree:
 *
 *              [40..50)                   low 0, high 90: from where to where the subtree reaches
 *             /        \                  max_gap 20: the largest hole between two of its ranges
 *        [0..20)       [60..70)
 *      low 0 high 20       \              left.high .. start: 20   end .. right.low: 10
 *      max_gap 0          [85..90)        and the children's own largest: 0, 15
 *
 * All three follow from the node and its two children, so a rotation or a way back up to the root
 * repairs them in passing. A search goes down once: left if the left subtree, or the hole on either
 * side of it, is large enough; otherwise right. O(log n), and the hole it finds is the lowest.
 * (Linux keeps the holes themselves in a red-black tree with the largest of each subtree, since
 * 2019, by Uladzislau Rezki; before, it walked the areas from a cached place on.)
 *
 * Pure: also compiled on the host. The caller has the lock.
 */
#pragma once

#include "kernel/types.h"

struct vmap_node {
	struct vmap_node *child[2]; /* of lower, of higher addresses */
	u64 start, end;             /* set by the caller before it is inserted */
	u64 low, high, max_gap;     /* of the subtree */
	u32 height;
};

struct vmap_tree {
	struct vmap_node *root;
	u64 start, end; /* the space */
};

/*
 * The lowest hole of `bytes` bytes that starts at a multiple of align (a power of two), or 0. It
 * looks for bytes + align - PAGE_SIZE, so that an aligned start is certain: with align above
 * PAGE_SIZE it may overlook a hole that happens to lie right.
 */
u64 vmap_tree_find_hole(const struct vmap_tree *tree, u64 bytes, u64 align);

/* The range that contains addr, or NULL. */
struct vmap_node *vmap_tree_find(const struct vmap_tree *tree, u64 addr);

/* The range must lie in the space and in a hole: asserted. */
void vmap_tree_insert(struct vmap_tree *tree, struct vmap_node *node);
/* It must be in the tree: asserted. */
void vmap_tree_remove(struct vmap_tree *tree, struct vmap_node *node);
