// SPDX-License-Identifier: Apache-2.0
// What the parts of the workload runner share. The runner executes the task programs of a vtime config in a real
// kernel; src/bpf/vm/workload.ts writes its input and documents the lines.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum op {
	OP_RUN,
	OP_SLEEP,
	OP_BLOCK,
	OP_WAKE,
	OP_SPIN,
	OP_SPIN_EVENT,
	OP_SIGNAL,
	OP_FORK,
	OP_JOIN,
	OP_BARRIER,
	OP_YIELD,
	OP_EXIT,
	OP_SET,
	OP_LOOP,
	OP_JUMP,
	OP_AFFINITY,
	OP_BRANCH,
	OPS
};

enum { FLAG_DRAW = 1, FLAG_SPIN = 2, FLAG_OWN = 4 };

enum distribution_kind {
	CONSTANT,
	UNIFORM,
	EXPONENTIAL,
	LOGNORMAL,
	HYPEREXPONENTIAL,
	PARETO,
	EMPIRICAL,
	DISTRIBUTION_KINDS
};

enum { MASK_WORDS = 8, PATH_BYTES = 128, COMM_BYTES = 16, REGISTERS = 4 };

struct instruction {
	uint8_t op;
	uint8_t flags;
	uint16_t reg;
	uint32_t a;
	uint64_t value;
};

struct distribution {
	uint32_t kind;
	uint32_t points;
	uint64_t first_point;
	uint64_t p[3];
};

struct point {
	uint64_t probability_q32;
	uint64_t value;
};

struct mask {
	uint64_t words[MASK_WORDS];
};

/** A task that exists from the start. */
struct task {
	char comm[COMM_BYTES];
	char cgroup[PATH_BYTES];
	uint32_t template_index;
	uint32_t ordinal;
	uint32_t pc;
	int policy;
	int priority; /* nice value, or realtime priority */
	uint32_t mask;
	uint64_t start_ns;
	uint32_t start_distribution;
	bool background;
};

/** A CPU that goes offline or comes back. */
struct hotplug {
	uint64_t at_ns;
	uint32_t cpu;
	uint32_t online;
};

/** A barrier or an event. Words that tasks sleep on are 32 bits. */
struct barrier {
	uint32_t parties;
	uint32_t arrived;
	uint32_t generation;
	uint32_t signalled;
};

struct model {
	uint64_t seed;
	uint64_t horizon_ns;
	uint32_t cpus;
	struct instruction *program;
	uint32_t instructions;
	struct distribution *distributions;
	uint32_t distribution_count;
	struct point *points;
	uint32_t point_count;
	struct mask *masks;
	uint32_t mask_count;
	struct barrier *barriers;
	uint32_t barrier_count;
	struct task *tasks;
	uint32_t task_count;
	struct hotplug *hotplugs; /* by time */
	uint32_t hotplug_count;
};

/** A task while it lives. Slots are reused; `generation` tells the tasks of one slot apart. */
struct slot {
	pid_t pid;
	pid_t alive; /* cleared by the kernel when the stack is free again */
	struct slot *parent;
	uint32_t parent_generation;
	uint32_t generation;
	uint32_t children; /* slept on by join */
	uint32_t wake;     /* 1: a wake is pending; slept on by block */
	uint32_t pc;
	uint32_t registers[REGISTERS];
	uint64_t key;
	uint64_t draws;
	struct barrier *family;
	struct barrier own_family;
	const struct task *task;
	bool background;
	bool started;
};

extern struct model model;

void read_model(const char *path);
__attribute__((noreturn)) void die(const char *what, const char *detail);

enum { PURPOSE_PROGRAM = 4, PURPOSE_START = 5 };
uint64_t stream_key(uint64_t seed, uint32_t purpose, uint32_t source);
uint64_t entity_key(uint64_t stream, uint64_t ordinal);
uint64_t draw64(uint64_t key, uint64_t index);
uint64_t draw_value(uint32_t distribution, uint64_t key, uint64_t index);

uint64_t thread_cpu_ns(void);
uint64_t monotonic_ns(void);
void futex_wait(uint32_t *word, uint32_t value);
void futex_wake(uint32_t *word, int tasks);

void execute(struct slot *slot);
struct slot *fork_task(struct slot *parent, uint32_t pc, uint64_t key);
void set_affinity(pid_t pid, uint32_t mask);
/** The task that template `index` began with as number `member`, or null if it has exited. */
struct slot *member_of(uint32_t index, uint32_t member);
