// SPDX-License-Identifier: GPL-2.0-only
//
// Scheduling domains with virtual-time priority. Two variants: as "Serverless platform driven CPU loadbalancing" says
// (Algorithms 1 and 2), and, with `as_coded`, as its author coded it (abrehman94/iluvatar-faas at e521d9b). The
// simulator's native policies `domains` and `domains-as-coded` decide the same; docs/policies.md names what differs
// from the sources. As coded, the loader has to add SCX_OPS_ENQ_LAST to ops.flags.

#define OWN_RUNNING
#define OWN_STOPPING
#define OWN_TICK
#define OWN_QUIESCENT
#define OWN_ENABLE
#include "recording.h"
#include "domains.h"

#define SECOND 1000000000ull
#define STEAL_REACH 11
/* B^2. A variance of the instruction pointer up to this is a busy poller's. */
#define POLLER_VARIANCE 16
#define POLLER_FACTOR 3

/* Kicks every idle CPU of a mask; NULL: of the machine. */
static void kick_idle_cpus(const struct cpumask *cpus, s32 pid)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	bool any = cpus ? bpf_cpumask_intersects(idle, cpus) : !bpf_cpumask_empty(idle);
	u32 n = any ? nr_cpu_ids : 0;

	for (u32 cpu = 0; cpu < MAX_CPUS && cpu < n; cpu++) {
		if (bpf_cpumask_test_cpu(cpu, idle) && (!cpus || bpf_cpumask_test_cpu(cpu, cpus)))
			kick(cpu, SCX_KICK_IDLE, pid);
	}
	scx_bpf_put_idle_cpumask(idle);
}

OPS3(s32, domains_select_cpu, struct task_struct *, p, s32, prev_cpu, u64, wake_flags)
{
	record(VTIME_SELECT_CPU, bpf_ktime_get_ns(), .pid = p->pid, .flags = wake_flags, .group = prev_cpu, .target = prev_cpu);
	return prev_cpu;
}

/* ---- enqueue ---- */

/* The text has no rule for waking CPUs: an enqueue wakes one idle CPU of the domain that the task may use. */
static __always_inline void wake_one(struct task_struct *p, u32 group, struct domain *domain, u64 now)
{
	struct bpf_cpumask *cpus = domain ? domain->cpus : NULL;
	s32 cpu;

	if (!cpus) {
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	} else if (p->nr_cpus_allowed >= nr_cpu_ids) {
		cpu = scx_bpf_pick_idle_cpu((const struct cpumask *)cpus, 0);
	} else {
		struct bpf_cpumask *both = bpf_cpumask_create();

		if (!both)
			return;
		bpf_cpumask_and(both, (const struct cpumask *)cpus, p->cpus_ptr);
		cpu = scx_bpf_pick_idle_cpu((const struct cpumask *)both, 0);
		bpf_cpumask_release(both);
	}
	record(VTIME_PICK_IDLE, now, .pid = p->pid, .group = group, .target = cpu);
	if (cpu >= 0)
		kick(cpu, SCX_KICK_IDLE, p->pid);
}

static __always_inline void enqueue_as_written(struct task_struct *p, struct task_state *state, u64 enq_flags, u64 now)
{
	u32 group, enqueues = state->enqueues;
	struct domain *domain = NULL;
	u64 slice = slice_ns;

	if (enqueues % reset_every == 0)
		state->vtime = vtime_of(now);
	else
		state->vtime += state->last_stint / (state->sleep_frequency > 1 ? state->sleep_frequency : 1);
	state->enqueues = enqueues + 1;

	group = group_of(p);
	if (group != NONE)
		domain = bpf_map_lookup_elem(&domain_map, &group);
	if (domain)
		slice = domain->slice_ns;
	record(VTIME_ENQUEUE, now, .pid = p->pid, .flags = enq_flags, .dsq = domain ? group : GLOBAL_DSQ, .slice_ns = slice,
	       .vtime = state->vtime, .exec_ns = p->se.sum_exec_runtime, .target = scx_bpf_task_cpu(p), .group = group,
	       .result = 1);
	dsq_insert_vtime(p, domain ? group : GLOBAL_DSQ, slice, state->vtime, enq_flags);
	wake_one(p, group, domain, now);
}

/* A task restricted to few CPUs waits in the queue of the one where fewest wait. */
static __always_inline void enqueue_on_least_loaded_cpu(struct task_struct *p, u64 enq_flags, u64 now)
{
	u32 best = 0, fewest = ~0u;

	for (u32 cpu = 0; cpu < MAX_CPUS && cpu < nr_cpu_ids; cpu++) {
		u32 waiting;

		if (!allowed(p, cpu))
			continue;
		waiting = scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) + scx_bpf_dsq_nr_queued(CPU_DSQ(cpu));
		if (waiting < fewest) {
			fewest = waiting;
			best = cpu;
		}
	}
	record(VTIME_ENQUEUE, now, .pid = p->pid, .flags = enq_flags, .dsq = CPU_DSQ(best), .slice_ns = pinned_slice_ns,
	       .exec_ns = p->se.sum_exec_runtime, .target = scx_bpf_task_cpu(p), .group = NONE);
	dsq_insert(p, CPU_DSQ(best), pinned_slice_ns, 0);
	kick_idle_cpus(p->cpus_ptr, p->pid);
}

static __always_inline void enqueue_as_coded(struct task_struct *p, struct task_state *state, u64 enq_flags, u64 now)
{
	struct domain *domain = NULL;
	u32 group;
	u64 slice;

	if (count_enqueues)
		state->enqueues++;
	if (p->nr_cpus_allowed < nr_cpu_ids && p->nr_cpus_allowed <= pinned_cpus) {
		enqueue_on_least_loaded_cpu(p, enq_flags, now);
		return;
	}
	group = group_of(p);
	if (group != NONE)
		domain = bpf_map_lookup_elem(&domain_map, &group);
	/* Slice 0 keeps what is left: what the code's division by a factor of 0 comes to. */
	slice = !domain ? pinned_slice_ns : state->busy_factor ? domain->slice_ns / state->busy_factor : 0;
	record(VTIME_ENQUEUE, now, .pid = p->pid, .flags = enq_flags, .dsq = domain ? group : GLOBAL_DSQ, .slice_ns = slice,
	       .vtime = state->vtime, .exec_ns = p->se.sum_exec_runtime, .target = scx_bpf_task_cpu(p), .group = group,
	       .result = 1);
	dsq_insert_vtime(p, domain ? group : GLOBAL_DSQ, slice, state->vtime, enq_flags);
	if (domain && (u32)scx_bpf_dsq_nr_queued(group) <= domain->nr_cpus)
		kick_idle_cpus((const struct cpumask *)domain->cpus, p->pid);
	else
		kick_idle_cpus(NULL, p->pid);
}

OPS2(void, domains_enqueue, struct task_struct *, p, u64, enq_flags)
{
	struct task_state *state = state_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!state)
		return;
	if (as_coded)
		enqueue_as_coded(p, state, enq_flags, now);
	else
		enqueue_as_written(p, state, enq_flags, now);
}

/* ---- dispatch ---- */

/*
 * Domains -1, +1, -2, +2, ... The CPU's own is read anew each time, for the verifier: what it learnt about it in one round
 * would make every round another state.
 */
static __always_inline void steal_from_neighbours(s32 cpu, u32 reach)
{
	for (u32 distance = 1; distance < MAX_GROUPS && distance <= reach; distance++) {
		u32 own = own_domain(cpu);

		if (own >= distance && move_to_local(cpu, own - distance))
			return;
		own = own_domain(cpu);
		if (own + distance < nr_groups && move_to_local(cpu, own + distance))
			return;
	}
}

OPS2(void, domains_dispatch, s32, cpu, struct task_struct *, prev)
{
	bool mapped = cpu_domain[CPU_INDEX(cpu)] != 0;

	record_dispatch(cpu, prev);
	if (as_coded) {
		if (!move_to_local(cpu, own_domain(cpu)))
			steal_from_neighbours(cpu, STEAL_REACH);
		move_to_local(cpu, CPU_DSQ(cpu));
		move_to_local(cpu, GLOBAL_DSQ);
		return;
	}
	if (mapped && move_to_local(cpu, own_domain(cpu)))
		return;
	if (move_to_local(cpu, GLOBAL_DSQ))
		return;
	if (steal && mapped)
		steal_from_neighbours(cpu, nr_groups - 1);
}

/* ---- accounting ---- */

OPS1(void, domains_running, struct task_struct *, p)
{
	struct task_state *state = state_of(p);

	if (!state)
		return;
	state->exec_start = p->se.sum_exec_runtime;
	record(VTIME_RUNNING, bpf_ktime_get_ns(), .pid = p->pid, .exec_ns = p->se.sum_exec_runtime, .slice_ns = p->scx.slice,
	       .vtime = state->vtime);
}

/*
 * Exponentially weighted mean and variance of the user instruction pointer with weight 1/2. The first sample has
 * variance 0: everybody begins as a poller.
 */
static __always_inline void judge(struct task_struct *p, struct task_state *state, u64 now)
{
	u64 ip = bpf_task_pt_regs(p)->ip;
	u64 weight = state->ip_samples != 0;
	u64 mean = (state->ip_mean * weight + ip) / (weight + 1);
	u64 squares = (u64)(((s64)ip - (s64)mean) * ((s64)ip - (s64)state->ip_mean));

	state->ip_variance = (state->ip_variance * weight + squares) / (weight + 1);
	state->ip_mean = mean;
	state->ip_samples++;
	state->busy_factor = state->ip_variance <= POLLER_VARIANCE ? POLLER_FACTOR : 1;
	record(VTIME_SAMPLE, now, .pid = p->pid, .dsq = ip, .vtime = state->ip_variance, .group = state->busy_factor);
}

OPS2(void, domains_stopping, struct task_struct *, p, bool, runnable)
{
	struct task_state *state = state_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!state)
		return;
	state->last_stint = p->se.sum_exec_runtime - state->exec_start;
	if (as_coded) {
		state->vtime += state->last_stint * state->busy_factor / (state->sleep_frequency > 1 ? state->sleep_frequency : 1);
		if (state->enqueues % reset_every == 0)
			state->vtime = vtime_of(now);
		if (!sample_at_tick)
			judge(p, state, now);
	}
	record(VTIME_STOPPING, now, .pid = p->pid, .exec_ns = p->se.sum_exec_runtime, .slice_ns = p->scx.slice,
	       .vtime = state->vtime, .result = runnable);
}

OPS1(void, domains_tick, struct task_struct *, p)
{
	struct task_state *state = state_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!state)
		return;
	record(VTIME_TICK, now, .pid = p->pid, .exec_ns = p->se.sum_exec_runtime, .slice_ns = p->scx.slice, .vtime = state->vtime);
	if (as_coded && sample_at_tick)
		judge(p, state, now);
}

/* Sleeps per second, updated at most once a second: 3/4 of the old value and 1/4 of the new, at least 1. */
OPS2(void, domains_quiescent, struct task_struct *, p, u64, deq_flags)
{
	struct task_state *state = state_of(p);
	u64 now = bpf_ktime_get_ns();
	u32 seconds;

	if (!state)
		return;
	state->sleeps++;
	seconds = (now - state->sleep_stamp) / SECOND;
	if (seconds) {
		u32 rate = state->sleeps / seconds, old = state->sleep_frequency;

		if (as_coded) {
			rate = rate > 1 ? rate : 1;
			old = old ? old : rate;
			state->sleep_frequency = old - (old >> 2) + (rate >> 2);
		} else {
			u32 mean = old ? (3 * old + rate) / 4 : rate;

			state->sleep_frequency = mean > 1 ? mean : 1;
		}
		state->sleeps = 0;
		state->sleep_stamp = now;
	}
	record(VTIME_QUIESCENT, now, .pid = p->pid, .flags = deq_flags, .group = state->sleep_frequency);
}

OPS2(s32, domains_init_task, struct task_struct *, p, struct scx_init_task_args *, args)
{
	return bpf_task_storage_get(&task_map, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

OPS1(void, domains_enable, struct task_struct *, p)
{
	struct task_state *state = state_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!state)
		return;
	if (as_coded)
		state->vtime = vtime_of(now);
	state->sleep_stamp = now;
	record_enable(p, now);
}

/* ---- begin and end ---- */

/* Wakes idle CPUs of domains where tasks wait: what ENQ_LAST left behind. */
static int heartbeat(void *map, u32 *key, struct heartbeat *value)
{
	struct bpf_iter_num groups;
	int *next;

	record(VTIME_TIMER, bpf_ktime_get_ns());
	for (u32 cpu = 0; cpu < MAX_CPUS && cpu < nr_cpu_ids; cpu++) {
		if (scx_bpf_dsq_nr_queued(CPU_DSQ(cpu)))
			kick(cpu, SCX_KICK_IDLE, 0);
	}
	bpf_iter_num_new(&groups, 0, nr_groups);
	while ((next = bpf_iter_num_next(&groups))) {
		u32 group = *next;
		struct domain *domain = bpf_map_lookup_elem(&domain_map, &group);

		if (domain && scx_bpf_dsq_nr_queued(group))
			kick_idle_cpus((const struct cpumask *)domain->cpus, 0);
	}
	bpf_iter_num_destroy(&groups);
	bpf_timer_start(&value->timer, heartbeat_ns, 0);
	return 0;
}

static s32 domain_init(u32 group)
{
	struct group *source = bpf_map_lookup_elem(&gMap, &group);
	struct domain *domain = bpf_map_lookup_elem(&domain_map, &group);
	struct bpf_cpumask *cpus;
	u64 any = 0;
	s32 err;

	if (!source || !domain)
		return -ENOENT;
	err = scx_bpf_create_dsq(group, -1);
	if (err)
		return err;
	cpus = bpf_cpumask_create();
	if (!cpus)
		return -ENOMEM;
	for (u32 word = 0; word < MAX_CPUS / 64; word++)
		any |= source->cores[word];
	domain->nr_cpus = 0;
	domain->slice_ns = source->slice_ns ? source->slice_ns : slice_ns;
	for (u32 cpu = 0; cpu < MAX_CPUS && cpu < nr_cpu_ids; cpu++) {
		if (any && !(source->cores[cpu / 64] >> (cpu % 64) & 1))
			continue;
		bpf_cpumask_set_cpu(cpu, cpus);
		cpu_domain[cpu] = group + 1;
		domain->nr_cpus++;
	}
	cpus = bpf_kptr_xchg(&domain->cpus, cpus);
	if (cpus)
		bpf_cpumask_release(cpus);
	return 0;
}

OPS0(s32, domains_init)
{
	struct bpf_iter_num groups;
	int *next;
	u32 key = 0;
	s32 err = 0;

	if (!machine_is_known() || nr_groups > MAX_GROUPS)
		return -EINVAL;
	bpf_iter_num_new(&groups, 0, nr_groups);
	while (!err && (next = bpf_iter_num_next(&groups)))
		err = domain_init(*next);
	bpf_iter_num_destroy(&groups);
	if (!err)
		err = scx_bpf_create_dsq(GLOBAL_DSQ, -1);
	if (as_coded) {
		struct heartbeat *value = bpf_map_lookup_elem(&heartbeat_map, &key);

		for (u32 cpu = 0; cpu < MAX_CPUS && cpu < nr_cpu_ids && !err; cpu++)
			err = scx_bpf_create_dsq(CPU_DSQ(cpu), -1);
		if (!err && value) {
			bpf_timer_init(&value->timer, &heartbeat_map, CLOCK_MONOTONIC);
			bpf_timer_set_callback(&value->timer, heartbeat);
			bpf_timer_start(&value->timer, heartbeat_ns, 0);
		}
	}
	record(VTIME_INIT, bpf_ktime_get_ns(), .flags = VTIME_RECORD_VERSION, .target = nr_cpu_ids, .group = nr_groups,
	       .result = as_coded, .slice_ns = slice_ns, .vtime = vtime_base);
	return err;
}

OPS1(void, domains_exit, struct scx_exit_info *, info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops domains = {
	RECORDING_CALLBACKS
	.select_cpu = (void *)domains_select_cpu,
	.enqueue = (void *)domains_enqueue,
	.dispatch = (void *)domains_dispatch,
	.tick = (void *)domains_tick,
	.running = (void *)domains_running,
	.stopping = (void *)domains_stopping,
	.quiescent = (void *)domains_quiescent,
	.init_task = (void *)domains_init_task,
	.enable = (void *)domains_enable,
	.init = (void *)domains_init,
	.exit = (void *)domains_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_SWITCH_PARTIAL,
	.name = "domains",
};
