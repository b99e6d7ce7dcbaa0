/*
 * node.h - memory nodes: which frames and which CPUs are close to each other.
 *
 * A node is a number below nr_nodes and a few ranges of frames. With several, each has a buddy
 * allocator of its own (mm/page_alloc.c): frames return to the node they are of, and no block
 * crosses from one to another. The firmware's SRAT tells of them (ACPI 5.2.16), or nodes=N on the
 * command line makes N of equal parts. Memory and CPUs that no table names are node 0's.
 *
 * Pure, compiled on the host by the unit tests. Set at boot and constant afterwards: no locks.
 */
#pragma once

#include "drivers/acpi_parse.h"
#include "kernel/types.h"
#include "user/abi.h"

extern unsigned nr_nodes; /* 1 to NR_NODES */

unsigned pfn_to_node(u64 pfn);

/*
 * Nodes in the order in which the table names their memory. NULL, or what is wrong with it: then
 * one.
 */
const char *nodes_from_srat(const struct acpi_srat *srat);
/* That CPU's node, after nodes_from_srat. */
unsigned srat_cpu_node(const struct acpi_srat *srat, u32 apic_id);
/* `nodes` of them (1 to NR_NODES), each with as many frame numbers below max_pfn. */
void nodes_split(unsigned nodes);
