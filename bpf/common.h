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

#define MAX_CPUS 512
#define NONE 0xffffffffu

char _license[] SEC("license") = "GPL";

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

/* Callbacks that no policy needs and every recording does. */

OPS2(void, record_dequeue, struct task_struct *, p, u64, deq_flags)
{
	record(VTIME_DEQUEUE, bpf_ktime_get_ns(), .pid = p->pid, .flags = deq_flags);
}

OPS2(void, record_runnable, struct task_struct *, p, u64, enq_flags)
{
	record(VTIME_RUNNABLE, bpf_ktime_get_ns(), .pid = p->pid, .flags = enq_flags, .target = scx_bpf_task_cpu(p));
}

OPS2(void, record_set_weight, struct task_struct *, p, u32, weight)
{
	record(VTIME_SET_WEIGHT, bpf_ktime_get_ns(), .pid = p->pid, .flags = weight);
}

OPS2(void, record_set_cpumask, struct task_struct *, p, const struct cpumask *, cpumask)
{
	u64 now = bpf_ktime_get_ns(), word = 0;
	u32 n = scx_bpf_nr_cpu_ids();

	for (u32 cpu = 0; cpu < MAX_CPUS && cpu < n; cpu++) {
		if (bpf_cpumask_test_cpu(cpu, cpumask))
			word |= 1ull << (cpu % 64);
		if (cpu % 64 == 63 || cpu == n - 1) {
			record(VTIME_SET_CPUMASK, now, .pid = p->pid, .dsq = word, .group = cpu / 64, .target = p->nr_cpus_allowed);
			word = 0;
		}
	}
}

OPS2(void, record_update_idle, s32, cpu, bool, idle)
{
	record(VTIME_UPDATE_IDLE, bpf_ktime_get_ns(), .target = cpu, .result = idle);
}

OPS2(void, record_exit_task, struct task_struct *, p, struct scx_exit_task_args *, args)
{
	record(VTIME_EXIT_TASK, bpf_ktime_get_ns(), .pid = p->pid);
}

OPS1(void, record_disable, struct task_struct *, p)
{
	record(VTIME_DISABLE, bpf_ktime_get_ns(), .pid = p->pid);
}

#define RECORDING_CALLBACKS                                                                                     \
	.dequeue = (void *)record_dequeue, .runnable = (void *)record_runnable,                                 \
	.set_weight = (void *)record_set_weight, .set_cpumask = (void *)record_set_cpumask,                     \
	.update_idle = (void *)record_update_idle, .exit_task = (void *)record_exit_task,                       \
	.disable = (void *)record_disable,

#else

#define record(kind_, now_, ...) ((void)(now_))
#define RECORDING_CALLBACKS

#endif

/* ENABLE carries the task's name, so that a reader of the recording can tell tasks apart. */
static __always_inline void record_enable(struct task_struct *p, u64 now)
{
	record(VTIME_ENABLE, now, .pid = p->pid, .group = p->tgid, .slice_ns = *(u64 *)&p->comm[0], .vtime = *(u64 *)&p->comm[8]);
}

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

/* vtimes wrap. */
static __always_inline bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

#endif
