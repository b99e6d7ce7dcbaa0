#include "drivers/exit.h"

#include "arch/cpu.h"
#include "arch/io.h"
#include "drivers/acpi.h"

#define DEBUG_EXIT_PORT 0xf4 /* -device isa-debug-exit,iobase=0xf4,iosize=0x04 */

void __noreturn exit_machine(enum exit_code code)
{
	local_irq_disable();
	outl(DEBUG_EXIT_PORT, code);
	acpi_poweroff();
	cpu_halt_forever();
}
