// SPDX-License-Identifier: Apache-2.0
// The interpreter of task programs, with the meaning of assembly/kernel/program.ts. Tasks share one address space, so
// only system calls and memory that stays are used here: no stdio, no malloc.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "workload.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void futex_wait(uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void futex_wake(uint32_t *word, int tasks)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, tasks, NULL, NULL, 0);
}

/** 4 KiB of straight code: a sampled instruction pointer of a burst is anywhere in it, unlike that of a poller. */
static __attribute__((noinline)) void burn_once(void)
{
	__asm__ volatile(".rept 1024\n\tlea 1(%%rax), %%rax\n\t.endr" ::: "rax");
}

/**
 * Uses the CPU until the thread's CPU time has grown by `length_ns`. How long a piece of code takes depends on how many
 * CPUs the emulator serves, so the clock is read often: after at most 1 / (2 CPUs + 8) of what is left at the last
 * speed seen, which can't overshoot even if all other CPUs become busy at once.
 */
static void burn(uint64_t length_ns)
{
	uint64_t now = thread_cpu_ns(), end = now + length_ns, piece_ns = 1000;
	const uint64_t share = 2 * model.cpus + 8;

	while (now < end) {
		uint64_t pieces = (end - now) / (piece_ns * share) + 1;

		for (uint64_t i = 0; i < pieces; i++)
			burn_once();
		uint64_t then = now;
		now = thread_cpu_ns();
		piece_ns = (now - then) / pieces + 1;
	}
}

/** A few bytes of code, repeated: where a busy poller's instruction pointer is. */
static inline void pause_briefly(void)
{
	__asm__ volatile("mov $64, %%ecx\n1:\tpause\n\tdec %%ecx\n\tjnz 1b" ::: "ecx", "cc");
}

static void spin_until_changed(const uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		pause_briefly();
}

static void wait_change(uint32_t *word, uint32_t value, bool spins)
{
	if (spins)
		spin_until_changed(word, value);
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		futex_wait(word, value);
}

static void sleep_ns(uint64_t length_ns)
{
	struct timespec length = { .tv_sec = length_ns / 1000000000, .tv_nsec = length_ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
}

static void arrive(struct barrier *b, bool spins)
{
	uint32_t generation = __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) < b->parties) {
		wait_change(&b->generation, generation, spins);
		return;
	}
	__atomic_store_n(&b->arrived, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&b->generation, 1, __ATOMIC_RELEASE);
	futex_wake(&b->generation, INT32_MAX);
}

static void join(struct slot *self, bool spins)
{
	uint32_t left;

	while ((left = __atomic_load_n(&self->children, __ATOMIC_ACQUIRE)) != 0)
		wait_change(&self->children, left, spins);
	if (self->family == &self->own_family)
		self->family = self->parent ? self->parent->family : NULL;
}

static void fork_children(struct slot *self, uint32_t pc, uint64_t children)
{
	if (children == 0)
		return;
	if (__atomic_load_n(&self->children, __ATOMIC_ACQUIRE) == 0) {
		self->own_family = (struct barrier){ .parties = children + 1 };
		self->family = &self->own_family;
	}
	__atomic_add_fetch(&self->children, children, __ATOMIC_ACQ_REL);
	for (uint64_t i = 0; i < children; i++)
		fork_task(self, pc, entity_key(self->key, self->draws++));
}

static void block(struct slot *self)
{
	wait_change(&self->wake, 0, false);
	__atomic_store_n(&self->wake, 0, __ATOMIC_RELEASE);
}

static void wake(struct slot *target)
{
	if (!target)
		return;
	__atomic_store_n(&target->wake, 1, __ATOMIC_RELEASE);
	futex_wake(&target->wake, 1);
}

static void restrict_to(struct slot *self, const struct instruction *i)
{
	struct slot *target = i->value == 0 ? self : member_of((i->value >> 32) - 1, i->value);

	if (target)
		set_affinity(target->pid, i->a);
}

static uint64_t operand(struct slot *self, const struct instruction *i)
{
	return i->flags & FLAG_DRAW ? draw_value(i->a, self->key, self->draws++) : i->value;
}

/** Runs a task's program to its end. */
void execute(struct slot *self)
{
	while (true) {
		const struct instruction *i = model.program + self->pc++;
		bool spins = i->flags & FLAG_SPIN;

		switch ((enum op)i->op) {
		case OP_RUN:
			burn(operand(self, i));
			break;
		case OP_SLEEP:
			sleep_ns(operand(self, i));
			break;
		case OP_BLOCK:
			block(self);
			break;
		case OP_WAKE:
			wake(member_of(i->a, i->value));
			break;
		case OP_SPIN: {
			uint64_t end = monotonic_ns() + operand(self, i);
			while (monotonic_ns() < end)
				pause_briefly();
			break;
		}
		case OP_SPIN_EVENT:
			spin_until_changed(&model.barriers[i->a].signalled, 0);
			break;
		case OP_SIGNAL:
			__atomic_store_n(&model.barriers[i->a].signalled, 1, __ATOMIC_RELEASE);
			break;
		case OP_FORK:
			fork_children(self, i->a, operand(self, i));
			break;
		case OP_JOIN:
			join(self, spins);
			break;
		case OP_BARRIER:
			if (!(i->flags & FLAG_OWN))
				arrive(model.barriers + i->a, spins);
			else if (self->family)
				arrive(self->family, spins);
			break;
		case OP_YIELD:
			sched_yield();
			break;
		case OP_SET:
			self->registers[i->reg] = operand(self, i);
			break;
		case OP_LOOP:
			if (--self->registers[i->reg] != 0)
				self->pc = i->a;
			break;
		case OP_JUMP:
			self->pc = i->a;
			break;
		case OP_AFFINITY:
			restrict_to(self, i);
			break;
		case OP_BRANCH:
			if (draw64(self->key, self->draws++) >> 32 < i->value)
				self->pc = i->a;
			break;
		case OP_EXIT:
		case OPS:
			return;
		}
	}
}
