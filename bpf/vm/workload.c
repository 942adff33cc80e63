// SPDX-License-Identifier: Apache-2.0
// Runs the task programs of a vtime config in this kernel: `workload FILE`. Prints a line for each task that was born,
// `task PID PARENT TEMPLATE NAME`, then `end REASON NS`. Needs root for classes, cgroups and negative nice values.
//
// A task is a process of its own (so that it can be in a cgroup of its own) that shares the runner's address space:
// forks are as cheap as threads and cause no page faults.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "workload.h"

enum { MAX_SLOTS = 4096, MAX_BIRTHS = 1 << 18, STACK_BYTES = 16384, STARTED = 1, LEAD_NS = 20000000 };

/** One line of the list of births. */
struct birth {
	pid_t pid;
	pid_t parent;
	uint32_t template_index;
	char comm[COMM_BYTES];
};

static struct slot *slots;
static char *stacks;
static uint32_t slots_used;
static struct birth *births;
static uint32_t birth_count;
static uint32_t lost; /* tasks that could not be born for lack of slots */

/** Slept on by tasks until the start, and by the runner until all have got there. */
static uint32_t go;
static uint32_t waiting;
static uint64_t start_ns;
/** Tasks that the run waits for; the runner sleeps on it. */
static uint32_t foreground;

void set_affinity(pid_t pid, uint32_t mask)
{
	uint64_t words[MASK_WORDS];

	memcpy(words, model.masks[mask].words, sizeof(words));
	syscall(SYS_sched_setaffinity, pid, sizeof(words), words);
}

struct slot *member_of(uint32_t index, uint32_t member)
{
	for (uint32_t i = 0; i < model.task_count; i++) {
		struct slot *s = slots + i;

		if (s->task->template_index == index && s->task->ordinal == member)
			return __atomic_load_n(&s->alive, __ATOMIC_ACQUIRE) ? s : NULL;
	}
	return NULL;
}

static void write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	if (file < 0 || write(file, text, strlen(text)) < 0)
		die("cannot write", path);
	close(file);
}

/** Class, mask and cgroup of a task that exists from the start; its children inherit them. */
static void take_place(const struct task *t)
{
	struct sched_param param = { .sched_priority = t->policy == 1 || t->policy == 2 ? t->priority : 0 };

	if (strcmp(t->cgroup, "/") != 0) {
		char path[PATH_BYTES + 64];
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/cgroup.procs", t->cgroup);
		write_file(path, "0");
	}
	set_affinity(0, t->mask);
	if (t->policy != 1 && t->policy != 2)
		setpriority(PRIO_PROCESS, 0, t->priority);
	if (syscall(SYS_sched_setscheduler, 0, t->policy, &param) != 0)
		die("the kernel has no such scheduling class for", t->comm);
}

static void finish(struct slot *self)
{
	struct slot *parent = self->parent;

	if (parent && parent->generation == self->parent_generation &&
	    __atomic_sub_fetch(&parent->children, 1, __ATOMIC_ACQ_REL) == 0)
		futex_wake(&parent->children, 1);
	if (!self->background && __atomic_sub_fetch(&foreground, 1, __ATOMIC_ACQ_REL) == 0)
		futex_wake(&foreground, 1);
	__atomic_add_fetch(&self->generation, 1, __ATOMIC_RELEASE);
	syscall(SYS_exit, 0);
}

/** Sleeps until the run starts and until the task's own time after it. */
static void wait_for_start(struct slot *self)
{
	const struct task *t = self->task;
	uint64_t at = t->start_ns;

	if (t->start_distribution != UINT32_MAX)
		at += draw_value(t->start_distribution,
				 entity_key(stream_key(model.seed, PURPOSE_START, t->template_index), t->ordinal), 0);
	__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL);
	futex_wake(&waiting, 1);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		futex_wait(&go, 0);
	at += start_ns;
	struct timespec time = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int task_main(void *argument)
{
	struct slot *self = argument;

	prctl(PR_SET_TIMERSLACK, 1);
	prctl(PR_SET_NAME, self->task->comm);
	if (!self->started) {
		take_place(self->task);
		wait_for_start(self);
	}
	execute(self);
	finish(self);
	return 0;
}

/** A slot whose last task has left its stack; -1 if there is none. */
static int free_slot(void)
{
	static uint32_t lock;
	int found = -1;

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	for (uint32_t i = model.task_count; i < slots_used && found < 0; i++)
		if (!__atomic_load_n(&slots[i].alive, __ATOMIC_ACQUIRE))
			found = i;
	if (found < 0 && slots_used < MAX_SLOTS)
		found = slots_used++;
	if (found >= 0)
		slots[found].alive = -1;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	return found;
}

/** The task could not be born: nobody waits for it. */
static void miscarry(struct slot *s)
{
	__atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
	if (!s->background)
		__atomic_sub_fetch(&foreground, 1, __ATOMIC_ACQ_REL);
	if (s->parent)
		__atomic_sub_fetch(&s->parent->children, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&s->alive, 0, __ATOMIC_RELEASE);
}

static void start(struct slot *s)
{
	char *top = stacks + (size_t)(s - slots + 1) * STACK_BYTES;
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;

	s->alive = -1;
	pid_t pid = clone(task_main, top, flags, s, &s->pid, NULL, &s->alive);
	if (pid < 0) {
		miscarry(s);
		return;
	}
	uint32_t number = __atomic_fetch_add(&birth_count, 1, __ATOMIC_ACQ_REL);
	if (number < MAX_BIRTHS) {
		births[number] = (struct birth){ pid, s->parent ? s->parent->pid : 0, s->task->template_index, "" };
		memcpy(births[number].comm, s->task->comm, COMM_BYTES);
	}
}

struct slot *fork_task(struct slot *parent, uint32_t pc, uint64_t key)
{
	int index = free_slot();

	if (index < 0) {
		__atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&parent->children, 1, __ATOMIC_ACQ_REL);
		return NULL;
	}
	struct slot *s = slots + index;
	uint32_t generation = s->generation;

	*s = (struct slot){
		.parent = parent,
		.parent_generation = parent->generation,
		.generation = generation,
		.pc = pc,
		.key = key,
		.family = parent->family,
		.task = parent->task,
		.background = parent->background,
		.started = true,
	};
	if (!s->background)
		__atomic_add_fetch(&foreground, 1, __ATOMIC_ACQ_REL);
	start(s);
	return s;
}

static void create_tasks(void)
{
	slots_used = model.task_count;
	for (uint32_t i = 0; i < model.task_count; i++) {
		const struct task *t = model.tasks + i;

		slots[i].task = t;
		slots[i].pc = t->pc;
		slots[i].background = t->background;
		slots[i].key = entity_key(stream_key(model.seed, PURPOSE_PROGRAM, t->template_index), t->ordinal);
		foreground += !t->background;
	}
	for (uint32_t i = 0; i < model.task_count; i++) {
		uint32_t seen;

		start(slots + i);
		while ((seen = __atomic_load_n(&waiting, __ATOMIC_ACQUIRE)) <= i)
			futex_wait(&waiting, seen);
	}
}

static void plug(const struct hotplug *h)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", h->cpu);
	write_file(path, h->online ? "1" : "0");
}

/** Until the foreground has finished or the horizon is reached; CPUs go and come meanwhile. */
static const char *supervise(void)
{
	uint64_t end = model.horizon_ns ? start_ns + model.horizon_ns : UINT64_MAX;
	uint32_t plugged = 0;

	while (true) {
		uint32_t left = __atomic_load_n(&foreground, __ATOMIC_ACQUIRE);
		uint64_t now = monotonic_ns();

		if (left == 0)
			return "completed";
		if (now >= end)
			return "horizon";
		uint64_t next = end;
		if (plugged < model.hotplug_count) {
			const struct hotplug *h = model.hotplugs + plugged;

			if (now >= start_ns + h->at_ns) {
				plug(h);
				plugged++;
				continue;
			}
			if (start_ns + h->at_ns < next)
				next = start_ns + h->at_ns;
		}
		struct timespec wait = { .tv_sec = (next - now) / 1000000000, .tv_nsec = (next - now) % 1000000000 };
		syscall(SYS_futex, &foreground, FUTEX_WAIT_PRIVATE, left, next == UINT64_MAX ? NULL : &wait, NULL, 0);
	}
}

int main(int count, char **arguments)
{
	if (count != 2)
		die("expected one argument, the file with the", "workload");
	read_model(arguments[1]);
	if (model.task_count > MAX_SLOTS)
		die("more tasks than", "4096");
	slots = mmap(NULL, sizeof(*slots) * MAX_SLOTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stacks = mmap(NULL, (size_t)STACK_BYTES * MAX_SLOTS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	births = mmap(NULL, sizeof(*births) * MAX_BIRTHS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slots == MAP_FAILED || stacks == MAP_FAILED || births == MAP_FAILED)
		die("out of memory:", strerror(errno));
	// Children reap themselves, orphans too.
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	mlockall(MCL_CURRENT);
	create_tasks();
	start_ns = monotonic_ns() + LEAD_NS;
	__atomic_store_n(&go, STARTED, __ATOMIC_RELEASE);
	futex_wake(&go, INT32_MAX);

	const char *reason = supervise();
	uint64_t end = monotonic_ns();
	for (uint32_t i = 0; i < slots_used; i++)
		if (__atomic_load_n(&slots[i].alive, __ATOMIC_ACQUIRE) && slots[i].pid > 0)
			kill(slots[i].pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
	uint32_t known = birth_count < MAX_BIRTHS ? birth_count : MAX_BIRTHS;
	for (uint32_t i = 0; i < known; i++)
		printf("task %d %d %u %s\n", births[i].pid, births[i].parent, births[i].template_index, births[i].comm);
	printf("end %s %llu %llu %u\n", reason, (unsigned long long)start_ns, (unsigned long long)(end - start_ns), lost);
	return lost ? 1 : 0;
}
