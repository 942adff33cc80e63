/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The little of the kernel that the schedulers of this folder touch. Field offsets are relocated against the running
 * kernel (CO-RE), so only names and types count here; values of enumerators are those of Linux 6.12 to 7.3.
 */
#ifndef VTIME_KERNEL_H
#define VTIME_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __weak __attribute__((weak))
#define __ksym __attribute__((section(".ksyms")))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]

/* ---- types ---- */

struct cpumask {
	unsigned long bits[1];
};

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
};

struct task_struct {
	s32 pid;
	s32 tgid;
	char comm[16];
	u32 nr_cpus_allowed;
	s32 static_prio;
	const struct cpumask *cpus_ptr;
	struct css_set *cgroups;
	struct sched_entity se;
	struct sched_ext_entity scx;
};

/* x86-64 */
struct pt_regs {
	unsigned long ip;
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

struct bpf_cpumask {
	struct cpumask cpumask;
};

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

struct scx_init_task_args;
struct scx_exit_task_args;

/* libbpf finds the members by name; what is missing here is zero there. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, bool idle);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *ei);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

enum {
	SCX_OPS_KEEP_BUILTIN_IDLE = 1 << 0,
	SCX_OPS_ENQ_LAST = 1 << 1,
	SCX_OPS_SWITCH_PARTIAL = 1 << 3,

	SCX_KICK_IDLE = 1 << 0,
	SCX_KICK_PREEMPT = 1 << 1,

	SCX_ENQ_WAKEUP = 1 << 0,

	SCX_TASK_QUEUED = 1 << 0,

	/* static_prio is this + 20 + nice. */
	MAX_RT_PRIO = 100,

	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,

	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_F_TIMER_CPU_PIN = 2,

	CLOCK_MONOTONIC = 1,

	ENOENT = 2,
	ENOMEM = 12,
	EINVAL = 22,
};

#define SCX_DSQ_GLOBAL 0x8000000000000001ull
#define SCX_DSQ_LOCAL 0x8000000000000002ull
#define SCX_DSQ_LOCAL_ON 0xc000000000000000ull
#define SCX_SLICE_INF 0xffffffffffffffffull

/* ---- helpers: the numbers are those of enum bpf_func_id ---- */

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static long (*const bpf_map_peek_elem)(void *map, void *value) = (void *)89;
static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size, const void *unsafe_ptr) = (void *)115;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *task, void *value, u64 flags) = (void *)156;
static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 nsecs, u64 flags) = (void *)171;
static struct pt_regs *(*const bpf_task_pt_regs)(struct task_struct *task) = (void *)175;
static void *(*const bpf_kptr_xchg)(void *dst, void *ptr) = (void *)194;

/* ---- kfuncs ---- */

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags) __ksym;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
extern const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
extern void scx_bpf_put_idle_cpumask(const struct cpumask *idle_mask) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern bool scx_bpf_task_running(const struct task_struct *p) __ksym;
extern bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;
extern bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime) __ksym __weak;

extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;

extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
extern bool bpf_cpumask_and(struct bpf_cpumask *dst, const struct cpumask *src1, const struct cpumask *src2) __ksym;
extern bool bpf_cpumask_empty(const struct cpumask *cpumask) __ksym;
extern bool bpf_cpumask_intersects(const struct cpumask *src1, const struct cpumask *src2) __ksym;

/* Names since 6.13, and those of 6.12. */
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;
extern bool scx_bpf_consume(u64 dsq_id) __ksym __weak;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dispatch_from_dsq(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags) __ksym __weak;

static __always_inline void dsq_insert(struct task_struct *p, u64 dsq, u64 slice_ns, u64 enq_flags)
{
	if (scx_bpf_dsq_insert)
		scx_bpf_dsq_insert(p, dsq, slice_ns, enq_flags);
	else
		scx_bpf_dispatch(p, dsq, slice_ns, enq_flags);
}

static __always_inline void dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice_ns, u64 vtime, u64 enq_flags)
{
	if (scx_bpf_dsq_insert_vtime)
		scx_bpf_dsq_insert_vtime(p, dsq, slice_ns, vtime, enq_flags);
	else
		scx_bpf_dispatch_vtime(p, dsq, slice_ns, vtime, enq_flags);
}

static __always_inline bool dsq_move_to_local(u64 dsq)
{
	return scx_bpf_dsq_move_to_local ? scx_bpf_dsq_move_to_local(dsq) : scx_bpf_consume(dsq);
}

static __always_inline bool dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 enq_flags)
{
	return scx_bpf_dsq_move ? scx_bpf_dsq_move(it, p, dsq, enq_flags) : scx_bpf_dispatch_from_dsq(it, p, dsq, enq_flags);
}

/* Newer kernels want a call where older ones let a scheduler write the field. */
static __always_inline void set_slice(struct task_struct *p, u64 slice_ns)
{
	if (scx_bpf_task_set_slice)
		scx_bpf_task_set_slice(p, slice_ns);
	else
		p->scx.slice = slice_ns;
}

static __always_inline void set_vtime(struct task_struct *p, u64 vtime)
{
	if (scx_bpf_task_set_dsq_vtime)
		scx_bpf_task_set_dsq_vtime(p, vtime);
	else
		p->scx.dsq_vtime = vtime;
}

/* A callback: the kernel passes all parameters in one array of 64-bit words. */
#define OPS0(type, name) \
	SEC("struct_ops.s/" #name) \
	type name(u64 *ctx)

#define OPS1(type, name, type1, arg1) \
	static __always_inline type name##_(type1 arg1); \
	SEC("struct_ops/" #name) \
	type name(u64 *ctx) { return name##_((type1)ctx[0]); } \
	static __always_inline type name##_(type1 arg1)

#define OPS2(type, name, type1, arg1, type2, arg2) \
	static __always_inline type name##_(type1 arg1, type2 arg2); \
	SEC("struct_ops/" #name) \
	type name(u64 *ctx) { return name##_((type1)ctx[0], (type2)ctx[1]); } \
	static __always_inline type name##_(type1 arg1, type2 arg2)

#define OPS3(type, name, type1, arg1, type2, arg2, type3, arg3) \
	static __always_inline type name##_(type1 arg1, type2 arg2, type3 arg3); \
	SEC("struct_ops/" #name) \
	type name(u64 *ctx) { return name##_((type1)ctx[0], (type2)ctx[1], (type3)ctx[2]); } \
	static __always_inline type name##_(type1 arg1, type2 arg2, type3 arg3)

#endif
