// SPDX-License-Identifier: GPL-2.0-only
//
// Weighted virtual time over the whole machine: the simulator's policy `global-vtime` without its options.

#define OWN_RUNNING
#define OWN_STOPPING
#define OWN_ENABLE
#include "recording.h"

const volatile u64 slice_ns = 3000000;
/* A waking task's credit is at most one slice, unless it may keep all of it. */
const volatile bool credit_clamped = true;
const volatile u64 vtime_base = 0;

#define SHARED_DSQ 0

/* The largest vtime that has started to run. CPUs race for it; an error lasts until the next task starts. */
u64 vtime_now;

/*
 * 2^20 divided by the weights of nice -20 to 19, that of nice 0 being 1024: what CPU time is charged, in 1/1024. scx.weight
 * would do, but has been rounded to hundredths of nice 0's.
 */
static const u32 inverse_weight[64] = {
	11, 14, 18, 22, 28, 35, 45, 56, 70, 87,
	109, 137, 171, 213, 268, 335, 419, 526, 661, 821,
	1024, 1278, 1600, 1993, 2478, 3130, 3855, 4877, 6096, 7653,
	9532, 12052, 14979, 18724, 23301, 29127, 36157, 45590, 58254, 69905,
};

struct task_state {
	u64 exec_start;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, s32);
	__type(value, struct task_state);
} task_map SEC(".maps");

static __always_inline void raise(struct task_struct *p)
{
	u64 floor = vtime_now - slice_ns;

	if (credit_clamped && before(p->scx.dsq_vtime, floor))
		set_vtime(p, floor);
}

OPS3(s32, vtime_select_cpu, struct task_struct *, p, s32, prev_cpu, u64, wake_flags)
{
	raise(p);
	return select_idle_cpu(p, prev_cpu, wake_flags, slice_ns);
}

OPS2(void, vtime_enqueue, struct task_struct *, p, u64, enq_flags)
{
	raise(p);
	record_insertion(p, SHARED_DSQ, slice_ns, p->scx.dsq_vtime, enq_flags, 1);
	dsq_insert_vtime(p, SHARED_DSQ, slice_ns, p->scx.dsq_vtime, enq_flags);
}

OPS2(void, vtime_dispatch, s32, cpu, struct task_struct *, prev)
{
	record_dispatch(cpu, prev);
	move_to_local(cpu, SHARED_DSQ);
}

OPS1(void, vtime_running, struct task_struct *, p)
{
	struct task_state *state = bpf_task_storage_get(&task_map, p, NULL, 0);

	if (state)
		state->exec_start = p->se.sum_exec_runtime;
	if (before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
	record_stint(VTIME_RUNNING, p, p->scx.dsq_vtime, true);
}

OPS2(void, vtime_stopping, struct task_struct *, p, bool, runnable)
{
	struct task_state *state = bpf_task_storage_get(&task_map, p, NULL, 0);
	u64 inverse = inverse_weight[(u32)(p->static_prio - MAX_RT_PRIO) & 63];

	if (state)
		set_vtime(p, p->scx.dsq_vtime + ((p->se.sum_exec_runtime - state->exec_start) * inverse >> 10));
	record_stint(VTIME_STOPPING, p, p->scx.dsq_vtime, runnable);
}

OPS2(s32, vtime_init_task, struct task_struct *, p, struct scx_init_task_args *, args)
{
	return bpf_task_storage_get(&task_map, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

OPS1(void, vtime_enable, struct task_struct *, p)
{
	set_vtime(p, vtime_now);
	record_enable(p, bpf_ktime_get_ns());
}

OPS0(s32, vtime_init)
{
	vtime_now = vtime_base;
	record(VTIME_INIT, bpf_ktime_get_ns(), .flags = VTIME_RECORD_VERSION, .target = nr_cpu_ids, .slice_ns = slice_ns,
	       .vtime = vtime_base);
	return machine_is_known() ? scx_bpf_create_dsq(SHARED_DSQ, -1) : -EINVAL;
}

OPS1(void, vtime_exit, struct scx_exit_info *, info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops vtime = {
	RECORDING_CALLBACKS
	.select_cpu = (void *)vtime_select_cpu,
	.enqueue = (void *)vtime_enqueue,
	.dispatch = (void *)vtime_dispatch,
	.running = (void *)vtime_running,
	.stopping = (void *)vtime_stopping,
	.init_task = (void *)vtime_init_task,
	.enable = (void *)vtime_enable,
	.init = (void *)vtime_init,
	.exit = (void *)vtime_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_SWITCH_PARTIAL,
	.name = "vtime",
};
