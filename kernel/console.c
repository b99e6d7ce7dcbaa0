/* console.c - the input ring between the serial interrupt and readers (see console.h). */
#include "kernel/console.h"
#include "arch/uaccess.h"
#include "drivers/serial.h"
#include "kernel/wait.h"

#define RING_SIZE 1024 /* a power of two; what comes faster than it is read is lost */

static u8 ring[RING_SIZE];
static u32 head, tail; /* head: interrupt only; tail: a reader, by compare and exchange */
static struct wait_queue readers;

static void console_input(u8 byte)
{
	if (head - READ_ONCE(tail) < RING_SIZE) {
		ring[head % RING_SIZE] = byte;
		store_release(&head, head + 1);
	}
	wake_up_all(&readers);
}

void console_init(void)
{
	wait_queue_init(&readers);
	serial_enable_irq(console_input);
}

static bool take_byte(u8 *byte)
{
	u32 at = READ_ONCE(tail);

	while (at != load_acquire(&head)) {
		*byte = ring[at % RING_SIZE];
		if (cmpxchg_bool(&tail, at, at + 1))
			return true;
		at = READ_ONCE(tail);
	}
	return false;
}

s64 console_read(u64 user_buf, u64 len, bool wait)
{
	u64 done = 0;
	u8 byte;
	int err = 0;

	if (!len)
		return 0;
	if (wait)
		err = wait_event_killable(&readers, take_byte(&byte));
	else if (!take_byte(&byte))
		err = -EAGAIN;
	if (err)
		return err;
	do {
		if (copy_to_user(user_buf + done, &byte, 1))
			return done ? (s64)done : -EFAULT;
		done++;
	} while (done < len && take_byte(&byte));
	return (s64)done;
}
