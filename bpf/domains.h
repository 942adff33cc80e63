/* SPDX-License-Identifier: GPL-2.0-only */
/* What domains.bpf.c is told, and what it remembers of groups, tasks and CPUs. */
#ifndef VTIME_DOMAINS_H
#define VTIME_DOMAINS_H

#include "common.h"

#define MAX_GROUPS 512

/* ---- what the loader sets ---- */

const volatile bool as_coded = false;
const volatile bool steal = true;
/* Every n-th enqueue of a task sets its vtime to now. */
const volatile u32 reset_every = 10;
const volatile u64 slice_ns = 3000000;
/* Groups in gMap: 0 to nr_groups - 1. */
const volatile u32 nr_groups = 1;
/* Added to the clock wherever a vtime is set to now: a base just below 2^64 makes vtimes wrap around during a run. */
const volatile u64 vtime_base = 0;
/* As coded only: */
const volatile bool count_enqueues = false;
const volatile bool sample_at_tick = false;
const volatile u32 pinned_cpus = 0;
const volatile u64 pinned_slice_ns = 1000000;
const volatile u64 heartbeat_ns = 1000000000;

/* A scheduling domain. */
struct group {
	/* Bit c of the words: CPU c belongs to it. No bit at all: every CPU does. */
	u64 cores[MAX_CPUS / 64];
	/* 0: slice_ns. */
	u64 slice_ns;
};

/* Read when the scheduler starts. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u32);
	__type(value, struct group);
} gMap SEC(".maps");

/* Cgroup (its id in the unified hierarchy) to group; read at every enqueue. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, u32);
} cMap SEC(".maps");

/* ---- state ---- */

struct domain {
	struct bpf_cpumask __kptr *cpus;
	u64 slice_ns;
	u32 nr_cpus;
	u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u32);
	__type(value, struct domain);
} domain_map SEC(".maps");

struct task_state {
	u64 vtime;
	/* CPU time at the last running(), and the length of the last stint. */
	u64 exec_start;
	u64 last_stint;
	u32 enqueues;
	/* 0 until the first judgement. */
	u32 busy_factor;
	/* Sleeps since the stamp; sleeps per second, 0 = none measured. */
	u32 sleeps;
	u32 sleep_frequency;
	u64 sleep_stamp;
	u64 ip_mean;
	u64 ip_variance;
	u32 ip_samples;
	u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, s32);
	__type(value, struct task_state);
} task_map SEC(".maps");

struct heartbeat {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct heartbeat);
} heartbeat_map SEC(".maps");

/* Domain of a CPU + 1, 0 if it belongs to none. */
u32 cpu_domain[MAX_CPUS];

/* DSQs: one per domain, then the global one, then (as coded) one per CPU. */
#define GLOBAL_DSQ nr_groups
#define CPU_DSQ(cpu) (nr_groups + 1 + (cpu))

static __always_inline struct task_state *state_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_map, p, NULL, 0);
}

static __always_inline u64 vtime_of(u64 now)
{
	return now + vtime_base;
}

/* Group of the task's cgroup, NONE if it is not mapped. */
static __always_inline u32 group_of(struct task_struct *p)
{
	u64 cgroup = p->cgroups->dfl_cgrp->kn->id;
	u32 *group = bpf_map_lookup_elem(&cMap, &cgroup);

	return group && *group < nr_groups ? *group : NONE;
}

/* A CPU outside all domains serves domain 0, as coded. */
static __always_inline u32 own_domain(s32 cpu)
{
	u32 own = *(volatile u32 *)&cpu_domain[CPU_INDEX(cpu)];

	return own ? own - 1 : 0;
}

#endif
