/* futex.c - wait and wake on words of user memory (see futex.h). */
#include "kernel/futex.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/syscall.h"
#include "kernel/user_range.h"
#include "mm/mm.h"

#define NR_BUCKETS 64

#define FUTEX_WAIT        0
#define FUTEX_WAKE        1
#define FUTEX_REQUEUE     3
#define FUTEX_CMD_MASK    0x7f
#define FUTEX_PRIVATE     128

struct futex_waiter {
	struct list_head node; /* in bucket's list, under its lock */
	struct futex_key key;
	struct thread *thread;
	bool woken;
};

struct bucket {
	spinlock_t lock;
	struct list_head waiters;
};

static const struct lock_class futex_class = {"futex", RANK_FUTEX, false};
static struct bucket buckets[NR_BUCKETS];

void futex_init(void)
{
	int i;

	for (i = 0; i < NR_BUCKETS; i++) {
		spin_init(&buckets[i].lock, &futex_class);
		list_init(&buckets[i].waiters);
	}
}

static struct bucket *bucket_of(const struct futex_key *key)
{
	u32 hash = (u32)((key->space >> 5) + (key->offset >> 2)) * 0x9e3779b1u;

	return &buckets[(hash >> 8) % NR_BUCKETS];
}

static bool same_key(const struct futex_key *a, const struct futex_key *b)
{
	return a->space == b->space && a->offset == b->offset;
}

static void queue_waiter(struct futex_waiter *waiter)
{
	struct bucket *bucket = bucket_of(&waiter->key);

	waiter->thread = current;
	spin_guard(&bucket->lock);
	list_add_tail(&waiter->node, &bucket->waiters);
}

static bool unqueue_waiter(struct futex_waiter *waiter)
{
	spin_guard(&bucket_of(&waiter->key)->lock);
	list_del(&waiter->node);
	return waiter->woken;
}

static s64 futex_wait(u64 addr, u32 expected, u64 timeout)
{
	struct futex_waiter waiter = {0};
	u64 deadline = 0, ns;
	u32 value;
	s64 err;

	if (timeout) {
		err = get_user_timespec(&ns, timeout);
		if (err)
			return err;
		deadline = add_saturated(clock_ns(), ns);
	}
	err = mm_futex_key(current->mm, addr, &waiter.key);
	if (err)
		return err;
	queue_waiter(&waiter);
	err = get_user(&value, addr);
	if (!err && value != expected)
		err = -EAGAIN;
	if (!err)
		err = sleep_until_done(&waiter.woken, deadline);
	return unqueue_waiter(&waiter) ? 0 : err;
}

static u64 wake_in_bucket(const struct futex_key *key, u64 n)
{
	struct bucket *bucket = bucket_of(key);
	struct futex_waiter *waiter, *next;
	u64 woken = 0;

	spin_guard(&bucket->lock); /* no waiter leaves before it is free */
	list_for_each_safe(waiter, next, &bucket->waiters, node)
		if (woken < n && same_key(&waiter->key, key)) {
			list_del(&waiter->node);
			WRITE_ONCE(waiter->woken, true);
			wake_up_thread(waiter->thread);
			woken++;
		}
	return woken;
}

s64 futex_wake(u64 addr, u64 n)
{
	struct futex_key key;
	int err = mm_futex_key(current->mm, addr, &key);

	return err ? err : (s64)wake_in_bucket(&key, n);
}

s64 sys_futex(u64 addr, u64 op, u64 value, u64 timeout)
{
	if (addr % sizeof(u32))
		return -EINVAL;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return futex_wait(addr, (u32)value, timeout);
	case FUTEX_WAKE:
		return futex_wake(addr, value);
	case FUTEX_REQUEUE: /* waking those who would move is allowed: they look at their word again */
		return futex_wake(addr, add_saturated(value, timeout));
	}
	return -ENOSYS;
}
