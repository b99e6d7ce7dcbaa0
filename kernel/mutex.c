/* mutex.c - sleeping locks (see mutex.h). */
#include "kernel/mutex.h"
#include "kernel/log.h"

void mutex_init(struct mutex *mutex, const struct lock_class *class)
{
	mutex->owner = NULL;
	mutex->class = class;
	wait_queue_init(&mutex->wait);
}

bool mutex_trylock(struct mutex *mutex)
{
	struct thread *self = current;

	if (!cmpxchg_bool(&mutex->owner, NULL, self))
		return false;
	ASSERT(self->nr_mutexes < MAX_HELD_MUTEXES, "%s holds %u mutexes", self->name,
	       self->nr_mutexes);
	self->mutexes[self->nr_mutexes++] = mutex->class;
	return true;
}

static void check_order(const struct mutex *mutex)
{
	struct thread *self = current;
	const struct lock_class *top =
		self->nr_mutexes ? self->mutexes[self->nr_mutexes - 1] : NULL;

	assert_may_sleep(mutex->class->name);
	ASSERT(mutex->owner != self, "%s takes %s twice", self->name, mutex->class->name);
	ASSERT(!top || top->rank < mutex->class->rank, "lock order: %s taken under %s",
	       mutex->class->name, top->name);
}

void mutex_lock(struct mutex *mutex)
{
	check_order(mutex);
	wait_event(&mutex->wait, mutex_trylock(mutex));
}

int mutex_lock_killable(struct mutex *mutex)
{
	check_order(mutex);
	return wait_event_killable(&mutex->wait, mutex_trylock(mutex));
}

void mutex_assert_held(const struct mutex *mutex)
{
	ASSERT(READ_ONCE(mutex->owner) == current, "%s is not held by %s", mutex->class->name,
	       current->name);
}

void mutex_unlock(struct mutex *mutex)
{
	struct thread *self = current;
	u32 i = self->nr_mutexes;

	ASSERT(mutex->owner == self, "%s is not held by %s", mutex->class->name, self->name);
	while (i > 0 && self->mutexes[i - 1] != mutex->class)
		i--;
	ASSERT(i > 0, "%s is not among the mutexes of %s", mutex->class->name, self->name);
	for (; i < self->nr_mutexes; i++)
		self->mutexes[i - 1] = self->mutexes[i];
	self->nr_mutexes--;
	(void)xchg(&mutex->owner, (struct thread *)NULL);
	if (!list_empty(&mutex->wait.waiters))
		wake_up_one(&mutex->wait);
}
