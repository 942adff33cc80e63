/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every scheduler of this folder has: recording (left out of the object unless compiled with -DRECORD=1) and the
 * reason why the kernel ended it, for the loader.
 */
#ifndef VTIME_COMMON_H
#define VTIME_COMMON_H

#include "kernel.h"
#include "record.h"

#ifndef RECORD
#define RECORD 0
#endif

/* A power of two: an index masked by MAX_CPUS - 1 is one that the verifier believes. */
#define MAX_CPUS 512
#define CPU_INDEX(cpu) ((u32)(cpu) & (MAX_CPUS - 1))
#define NONE 0xffffffffu

char _license[] SEC("license") = "GPL";

/*
 * CPUs of the machine; every loader sets variables of this name. Constant, so that the verifier knows how often loops
 * repeat.
 */
const volatile u32 nr_cpu_ids = 0;

static __always_inline bool machine_is_known(void)
{
	return nr_cpu_ids == scx_bpf_nr_cpu_ids() && nr_cpu_ids <= MAX_CPUS;
}

/* ops.exit(): read by the loader from the data section of this name. */
struct {
	s32 kind;
	u32 reserved;
	s64 code;
	char reason[128];
	char message[1024];
} exit_info SEC(".data.exit_info");

#if RECORD

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} records SEC(".maps");

/* Records for which the ring buffer had no room. */
u64 records_dropped;

#define record(kind_, now_, ...)                                                              \
	({                                                                                    \
		struct vtime_record *record_ = bpf_ringbuf_reserve(&records, sizeof(*record_), 0); \
		if (record_) {                                                                \
			*record_ = (struct vtime_record){ .time_ns = (now_),                  \
							  .cpu = bpf_get_smp_processor_id(),  \
							  .kind = (kind_),                    \
							  __VA_ARGS__ };                      \
			bpf_ringbuf_submit(record_, BPF_RB_NO_WAKEUP);                        \
		} else {                                                                      \
			__sync_fetch_and_add(&records_dropped, 1);                            \
		}                                                                             \
	})

#else

/* Nothing is evaluated. */
#define record(kind_, now_, ...) \
	((void)sizeof(now_), (void)sizeof((struct vtime_record){ .kind = (kind_), __VA_ARGS__ }))

#endif

static __always_inline void exit_record(struct scx_exit_info *info)
{
	exit_info.kind = info->kind;
	exit_info.code = info->exit_code;
	bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), info->reason);
	bpf_probe_read_kernel_str(exit_info.message, sizeof(exit_info.message), info->msg);
#if RECORD
	record(VTIME_EXIT, bpf_ktime_get_ns(), .flags = info->kind, .vtime = info->exit_code, .target = records_dropped);
#endif
}

static __always_inline bool allowed(const struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

static __always_inline void record_dispatch(s32 cpu, struct task_struct *prev)
{
	record(VTIME_DISPATCH, bpf_ktime_get_ns(), .target = cpu, .pid = prev ? prev->pid : 0, .flags = prev ? prev->scx.flags : 0,
	       .slice_ns = prev ? prev->scx.slice : 0, .exec_ns = prev ? prev->se.sum_exec_runtime : 0);
}

/* ENABLE carries the task's name, so that a reader of the recording can tell tasks apart. */
static __always_inline void record_enable(struct task_struct *p, u64 now)
{
	record(VTIME_ENABLE, now, .pid = p->pid, .group = p->tgid, .slice_ns = *(u64 *)&p->comm[0], .vtime = *(u64 *)&p->comm[8]);
}

/* RUNNING, STOPPING or TICK. */
static __always_inline void record_stint(u8 kind, struct task_struct *p, u64 vtime, bool runnable)
{
	record(kind, bpf_ktime_get_ns(), .pid = p->pid, .exec_ns = p->se.sum_exec_runtime, .slice_ns = p->scx.slice,
	       .vtime = vtime, .result = runnable);
}

static __always_inline void record_insertion(struct task_struct *p, u64 dsq, u64 slice_ns, u64 vtime, u64 enq_flags, u8 how)
{
	record(VTIME_ENQUEUE, bpf_ktime_get_ns(), .pid = p->pid, .flags = enq_flags, .dsq = dsq, .slice_ns = slice_ns,
	       .vtime = vtime, .exec_ns = p->se.sum_exec_runtime, .target = scx_bpf_task_cpu(p), .group = NONE, .result = how);
}

static __always_inline bool move_to_local(s32 cpu, u64 dsq)
{
	bool moved = dsq_move_to_local(dsq);

	record(VTIME_MOVE, bpf_ktime_get_ns(), .dsq = dsq, .target = cpu, .result = moved);
	return moved;
}

static __always_inline void kick(s32 cpu, u64 flags, s32 pid)
{
	record(VTIME_KICK, bpf_ktime_get_ns(), .pid = pid, .target = cpu, .flags = flags);
	scx_bpf_kick_cpu(cpu, flags);
}

/* The previous CPU if it is idle and allowed, else any idle one that is; negative if there is none. */
static __always_inline s32 pick_idle_near(struct task_struct *p, s32 prev_cpu)
{
	s32 cpu;

	if (allowed(p, prev_cpu) && scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		cpu = prev_cpu;
	else
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	record(VTIME_PICK_IDLE, bpf_ktime_get_ns(), .pid = p->pid, .group = NONE, .target = cpu);
	return cpu;
}

/* ops.select_cpu(): a task that finds an idle CPU goes straight there. */
static __always_inline s32 select_idle_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags, u64 slice_ns)
{
	s32 idle = pick_idle_near(p, prev_cpu), cpu = idle >= 0 ? idle : prev_cpu;

	record(VTIME_SELECT_CPU, bpf_ktime_get_ns(), .pid = p->pid, .flags = wake_flags, .group = prev_cpu, .target = cpu);
	if (idle >= 0) {
		record_insertion(p, SCX_DSQ_LOCAL, slice_ns, 0, 0, 0);
		dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	}
	return cpu;
}

/* vtimes wrap. */
static __always_inline bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

#endif
