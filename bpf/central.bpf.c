// SPDX-License-Identifier: GPL-2.0-only
//
// One CPU takes all decisions: tasks wait in one FIFO; a CPU that runs out of work asks the central one, which puts a task
// into its local DSQ. Slices never end by themselves: a timer preempts what has run for a slice while others wait. The
// simulator's policy `central`.

#define OWN_RUNNING
#define OWN_STOPPING
#include "recording.h"

const volatile u64 slice_ns = 20000000;
const volatile u32 central_cpu = 0;
const volatile u64 timer_ns = 1000000;

#define SHARED_DSQ 0

/* Times that the timer has fired. */
u32 turns;
/* Has got a task since it last asked for one. Every CPU has looked for work once before the scheduler was loaded. */
bool served[MAX_CPUS];
/* When its task began to run, + 1; 0 = it runs none. */
u64 started[MAX_CPUS];

struct timer_value {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct timer_value);
} timer_map SEC(".maps");

OPS3(s32, central_select_cpu, struct task_struct *, p, s32, prev_cpu, u64, wake_flags)
{
	record(VTIME_SELECT_CPU, bpf_ktime_get_ns(), .pid = p->pid, .flags = wake_flags, .group = prev_cpu, .target = central_cpu);
	return central_cpu;
}

OPS2(void, central_enqueue, struct task_struct *, p, u64, enq_flags)
{
	/*
	 * A task that is only losing its CPU needs no kick: that CPU has just asked. The kick comes first: it takes the slice
	 * of whatever the central CPU runs, which may still be a task that is being moved.
	 */
	if (!scx_bpf_task_running(p))
		kick(central_cpu, SCX_KICK_PREEMPT, p->pid);
	record_insertion(p, SHARED_DSQ, SCX_SLICE_INF, 0, enq_flags, 0);
	dsq_insert(p, SHARED_DSQ, SCX_SLICE_INF, 0);
}

/* Moves the first task that may run there into the CPU's local DSQ. */
static bool move_to_cpu(u32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool moved = false;
	s32 pid = 0;

	if (!bpf_iter_scx_dsq_new(&it, SHARED_DSQ, 0)) {
		while (!moved && (p = bpf_iter_scx_dsq_next(&it))) {
			pid = p->pid;
			moved = allowed(p, cpu) && dsq_move(&it, p, SCX_DSQ_LOCAL_ON | cpu, 0);
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	record(VTIME_MOVE, bpf_ktime_get_ns(), .dsq = SHARED_DSQ, .target = cpu, .result = moved, .pid = moved ? pid : 0);
	return moved;
}

OPS2(void, central_dispatch, s32, cpu, struct task_struct *, prev)
{
	record_dispatch(cpu, prev);
	served[CPU_INDEX(cpu)] = false;
	if ((u32)cpu != central_cpu) {
		kick(central_cpu, SCX_KICK_PREEMPT, 0);
		return;
	}
	/* The others first: the central CPU serves itself last. */
	for (u32 other = 0; other < MAX_CPUS && other < nr_cpu_ids; other++) {
		if (other != central_cpu && !served[other] && move_to_cpu(other))
			served[other] = true;
	}
	if (move_to_local(cpu, SHARED_DSQ))
		served[CPU_INDEX(cpu)] = true;
}

OPS1(void, central_running, struct task_struct *, p)
{
	started[CPU_INDEX(scx_bpf_task_cpu(p))] = bpf_ktime_get_ns() + 1;
	record_stint(VTIME_RUNNING, p, p->scx.dsq_vtime, true);
}

OPS2(void, central_stopping, struct task_struct *, p, bool, runnable)
{
	started[CPU_INDEX(scx_bpf_task_cpu(p))] = 0;
	record_stint(VTIME_STOPPING, p, p->scx.dsq_vtime, runnable);
}

/* Preempts what has had its slice, as many CPUs as tasks wait, another one first each time; the central CPU sees to itself. */
static int preempt_by_timer(void *map, u32 *key, struct timer_value *value)
{
	u64 now = bpf_ktime_get_ns();
	u32 wanted = scx_bpf_dsq_nr_queued(SHARED_DSQ);

	record(VTIME_TIMER, now);
	turns++;
	for (u32 i = 0; i < MAX_CPUS && i < nr_cpu_ids; i++) {
		u32 cpu = (turns + i) % nr_cpu_ids;
		u64 since;

		if (cpu == central_cpu)
			continue;
		since = started[CPU_INDEX(cpu)];
		if (since && now + 1 < since + slice_ns)
			continue;
		if (!scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu)) {
			if (!wanted)
				continue;
			wanted--;
		}
		kick(cpu, SCX_KICK_PREEMPT, 0);
	}
	bpf_timer_start(&value->timer, timer_ns, 0);
	return 0;
}

OPS0(s32, central_init)
{
	u32 key = 0;
	struct timer_value *value = bpf_map_lookup_elem(&timer_map, &key);
	s32 err = scx_bpf_create_dsq(SHARED_DSQ, -1);

	if (err || !value)
		return err;
	if (!machine_is_known() || central_cpu >= nr_cpu_ids)
		return -EINVAL;
	bpf_timer_init(&value->timer, &timer_map, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&value->timer, preempt_by_timer);
	bpf_timer_start(&value->timer, timer_ns, 0);
	record(VTIME_INIT, bpf_ktime_get_ns(), .flags = VTIME_RECORD_VERSION, .target = nr_cpu_ids, .slice_ns = slice_ns);
	return 0;
}

OPS1(void, central_exit, struct scx_exit_info *, info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops central = {
	RECORDING_CALLBACKS
	.select_cpu = (void *)central_select_cpu,
	.enqueue = (void *)central_enqueue,
	.dispatch = (void *)central_dispatch,
	.running = (void *)central_running,
	.stopping = (void *)central_stopping,
	.init = (void *)central_init,
	.exit = (void *)central_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST | SCX_OPS_SWITCH_PARTIAL,
	.name = "central",
};
