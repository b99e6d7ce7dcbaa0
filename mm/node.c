/* node.c - memory nodes (see node.h). */
#include "mm/node.h"
#include "mm/page.h"

unsigned nr_nodes = 1;

static struct node_range {
	u64 start_pfn, end_pfn;
	unsigned node;
} range[ACPI_MAX_MEM];
static unsigned nr_ranges;
static u32 domain_of[NR_NODES]; /* with an SRAT */

unsigned pfn_to_node(u64 pfn)
{
	unsigned i;

	for (i = 0; i < nr_ranges; i++)
		if (pfn >= range[i].start_pfn && pfn < range[i].end_pfn)
			return range[i].node;
	return 0;
}

/* nr_nodes: none yet. */
static unsigned domain_to_node(u32 domain)
{
	unsigned node = 0;

	while (node < nr_nodes && domain_of[node] != domain)
		node++;
	return node;
}

static const char *add_range(u64 start_pfn, u64 end_pfn, u32 domain)
{
	unsigned node = domain_to_node(domain), i;

	if (node == NR_NODES)
		return "names more nodes than this kernel supports";
	for (i = 0; i < nr_ranges; i++)
		if (start_pfn < range[i].end_pfn && range[i].start_pfn < end_pfn)
			return "gives one range of memory twice";
	domain_of[node] = domain;
	nr_nodes = MAX(nr_nodes, node + 1);
	range[nr_ranges++] = (struct node_range){start_pfn, end_pfn, node};
	return NULL;
}

const char *nodes_from_srat(const struct acpi_srat *srat)
{
	const char *wrong = srat->damaged ? "is damaged" : NULL;
	u32 i;

	nr_nodes = nr_ranges = 0;
	for (i = 0; i < srat->nr_mem && !wrong; i++)
		if (srat->mem[i].start >> PAGE_SHIFT < max_pfn) /* or a slot for memory to come */
			wrong = add_range(srat->mem[i].start >> PAGE_SHIFT,
					  srat->mem[i].end >> PAGE_SHIFT, srat->mem[i].domain);
	if (wrong || nr_nodes < 2) {
		nr_nodes = 1;
		nr_ranges = 0;
	}
	return wrong;
}

unsigned srat_cpu_node(const struct acpi_srat *srat, u32 apic_id)
{
	unsigned node;
	u32 i;

	for (i = 0; i < srat->nr_cpus; i++)
		if (srat->cpu[i].apic_id == apic_id) {
			node = domain_to_node(srat->cpu[i].domain);
			return node < nr_nodes ? node : 0;
		}
	return 0;
}

void nodes_split(unsigned nodes)
{
	for (nr_ranges = 0; nr_ranges < nodes; nr_ranges++)
		range[nr_ranges] = (struct node_range){max_pfn * nr_ranges / nodes,
						       max_pfn * (nr_ranges + 1) / nodes, nr_ranges};
	nr_nodes = nodes;
}
