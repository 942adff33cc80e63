/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Callbacks that a policy wants for its recordings only. One that has a callback itself defines OWN_... before it includes
 * this file, and records in its own.
 */
#ifndef VTIME_RECORDING_H
#define VTIME_RECORDING_H

#include "common.h"

#if RECORD

#ifndef OWN_DEQUEUE
OPS2(void, record_dequeue, struct task_struct *, p, u64, deq_flags)
{
	record(VTIME_DEQUEUE, bpf_ktime_get_ns(), .pid = p->pid, .flags = deq_flags);
}
#define RECORD_DEQUEUE .dequeue = (void *)record_dequeue,
#endif

#ifndef OWN_RUNNABLE
OPS2(void, record_runnable, struct task_struct *, p, u64, enq_flags)
{
	record(VTIME_RUNNABLE, bpf_ktime_get_ns(), .pid = p->pid, .flags = enq_flags, .target = scx_bpf_task_cpu(p));
}
#define RECORD_RUNNABLE .runnable = (void *)record_runnable,
#endif

#ifndef OWN_RUNNING
OPS1(void, record_running, struct task_struct *, p)
{
	record_stint(VTIME_RUNNING, p, p->scx.dsq_vtime, true);
}
#define RECORD_RUNNING .running = (void *)record_running,
#endif

#ifndef OWN_STOPPING
OPS2(void, record_stopping, struct task_struct *, p, bool, runnable)
{
	record_stint(VTIME_STOPPING, p, p->scx.dsq_vtime, runnable);
}
#define RECORD_STOPPING .stopping = (void *)record_stopping,
#endif

#ifndef OWN_TICK
OPS1(void, record_tick, struct task_struct *, p)
{
	record_stint(VTIME_TICK, p, p->scx.dsq_vtime, true);
}
#define RECORD_TICK .tick = (void *)record_tick,
#endif

#ifndef OWN_QUIESCENT
OPS2(void, record_quiescent, struct task_struct *, p, u64, deq_flags)
{
	record(VTIME_QUIESCENT, bpf_ktime_get_ns(), .pid = p->pid, .flags = deq_flags);
}
#define RECORD_QUIESCENT .quiescent = (void *)record_quiescent,
#endif

#ifndef OWN_ENABLE
OPS1(void, record_enabled, struct task_struct *, p)
{
	record_enable(p, bpf_ktime_get_ns());
}
#define RECORD_ENABLE .enable = (void *)record_enabled,
#endif

OPS1(void, record_disabled, struct task_struct *, p)
{
	record(VTIME_DISABLE, bpf_ktime_get_ns(), .pid = p->pid);
}

OPS2(void, record_exit_task, struct task_struct *, p, struct scx_exit_task_args *, args)
{
	record(VTIME_EXIT_TASK, bpf_ktime_get_ns(), .pid = p->pid);
}

OPS2(void, record_set_weight, struct task_struct *, p, u32, weight)
{
	record(VTIME_SET_WEIGHT, bpf_ktime_get_ns(), .pid = p->pid, .flags = weight);
}

OPS2(void, record_set_cpumask, struct task_struct *, p, const struct cpumask *, cpumask)
{
	u64 now = bpf_ktime_get_ns(), word = 0;

	for (u32 cpu = 0; cpu < MAX_CPUS && cpu < nr_cpu_ids; cpu++) {
		if (bpf_cpumask_test_cpu(cpu, cpumask))
			word |= 1ull << (cpu % 64);
		if (cpu % 64 == 63 || cpu == nr_cpu_ids - 1) {
			record(VTIME_SET_CPUMASK, now, .pid = p->pid, .dsq = word, .group = cpu / 64, .target = p->nr_cpus_allowed);
			word = 0;
		}
	}
}

OPS2(void, record_update_idle, s32, cpu, bool, idle)
{
	record(VTIME_UPDATE_IDLE, bpf_ktime_get_ns(), .target = cpu, .result = idle);
}

#define RECORD_ALWAYS                                                                           \
	.disable = (void *)record_disabled, .exit_task = (void *)record_exit_task,              \
	.set_weight = (void *)record_set_weight, .set_cpumask = (void *)record_set_cpumask,     \
	.update_idle = (void *)record_update_idle,

#else
#define RECORD_ALWAYS
#endif

#ifndef RECORD_DEQUEUE
#define RECORD_DEQUEUE
#endif
#ifndef RECORD_RUNNABLE
#define RECORD_RUNNABLE
#endif
#ifndef RECORD_RUNNING
#define RECORD_RUNNING
#endif
#ifndef RECORD_STOPPING
#define RECORD_STOPPING
#endif
#ifndef RECORD_TICK
#define RECORD_TICK
#endif
#ifndef RECORD_QUIESCENT
#define RECORD_QUIESCENT
#endif
#ifndef RECORD_ENABLE
#define RECORD_ENABLE
#endif

/* Members of sched_ext_ops. */
#define RECORDING_CALLBACKS \
	RECORD_DEQUEUE RECORD_RUNNABLE RECORD_RUNNING RECORD_STOPPING RECORD_TICK RECORD_QUIESCENT RECORD_ENABLE RECORD_ALWAYS

#endif
