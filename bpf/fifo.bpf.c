// SPDX-License-Identifier: GPL-2.0-only
//
// One FIFO for the whole machine: a waking task takes an idle CPU, else it queues at the end. The simulator's policy
// `global-fifo`.

#include "recording.h"

const volatile u64 slice_ns = 3000000;
/* A task whose slice is over goes into the local DSQ of its CPU: the defect reported as sched-ext/scx#1185. */
const volatile bool requeue_local = false;

#define SHARED_DSQ 0

OPS3(s32, fifo_select_cpu, struct task_struct *, p, s32, prev_cpu, u64, wake_flags)
{
	return select_idle_cpu(p, prev_cpu, wake_flags, slice_ns);
}

OPS2(void, fifo_enqueue, struct task_struct *, p, u64, enq_flags)
{
	bool lost_its_cpu = !(enq_flags & SCX_ENQ_WAKEUP) && p->se.sum_exec_runtime != 0;
	u64 dsq = requeue_local && lost_its_cpu ? SCX_DSQ_LOCAL : SHARED_DSQ;

	record_insertion(p, dsq, slice_ns, 0, enq_flags, 0);
	dsq_insert(p, dsq, slice_ns, enq_flags);
}

OPS2(void, fifo_dispatch, s32, cpu, struct task_struct *, prev)
{
	record_dispatch(cpu, prev);
	move_to_local(cpu, SHARED_DSQ);
}

OPS0(s32, fifo_init)
{
	record(VTIME_INIT, bpf_ktime_get_ns(), .flags = VTIME_RECORD_VERSION, .target = nr_cpu_ids, .slice_ns = slice_ns);
	return machine_is_known() ? scx_bpf_create_dsq(SHARED_DSQ, -1) : -EINVAL;
}

OPS1(void, fifo_exit, struct scx_exit_info *, info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops fifo = {
	RECORDING_CALLBACKS
	.select_cpu = (void *)fifo_select_cpu,
	.enqueue = (void *)fifo_enqueue,
	.dispatch = (void *)fifo_dispatch,
	.init = (void *)fifo_init,
	.exit = (void *)fifo_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_SWITCH_PARTIAL,
	.name = "fifo",
};
