/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One use of each thing that linking has to resolve: maps of every kind of definition, global variables, externs, CO-RE
 * questions, callbacks, subprograms. It schedules nothing sensible. features.bpf.o is made from it by
 *   clang-16 -target bpf -mcpu=v3 -O2 -g -ffile-prefix-map=$PWD/= -ffile-compilation-dir=. -c features.bpf.c && llvm-strip-16 -g features.bpf.o
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define __weak __attribute__((weak))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __contains(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))
#define __noinline __attribute__((noinline))

/* Numbers of __builtin_preserve_field_info and _enum_value. */
enum { FIELD_OFFSET, FIELD_SIZE, FIELD_EXISTS, FIELD_SIGNED, FIELD_LSHIFT, FIELD_RSHIFT };
enum { ENUMERATOR_EXISTS, ENUMERATOR_VALUE };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
};

struct task_struct {
	s32 pid;
	struct {
		u32 inside;
	};
	struct sched_ext_entity scx;
	u8 comm[16];
	u32 narrow;
	u32 absent;
	s32 low_bits : 3;
	s32 high_bits : 5;
};

struct task_struct___old {
	s32 state;
};
#pragma clang attribute pop

enum scx_enq_flags { SCX_ENQ_WAKEUP = 1, SCX_ENQ_LAST = 1ULL << 40, SCX_ENQ_ABSENT = 3 };

struct bpf_cpumask;
struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_spin_lock {
	u32 value;
};
struct bpf_list_head {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_list_node {
	u64 opaque[3];
} __attribute__((aligned(8)));

struct entry {
	u64 number;
	struct bpf_list_node node;
};

struct state {
	struct bpf_timer timer;
	struct bpf_cpumask __kptr *mask;
	u64 sum;
	struct bpf_spin_lock locks[2];
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_loop)(u32 count, void *callback, void *context, u64 flags) = (void *)181;
/* A helper that the test's kernel does not have. */
static long (*bpf_probe_read_user)(void *to, u32 bytes, const void *from) = (void *)112;

void scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq, u64 slice, u64 flags) __ksym __weak;
void scx_bpf_dispatch(struct task_struct *p, u64 dsq, u64 slice, u64 flags) __ksym __weak;
struct entry *bpf_obj_new_impl(u64 type, void *meta) __ksym;
extern int LINUX_KERNEL_VERSION __kconfig;
extern bool CONFIG_ABSENT __kconfig __weak;

/* ---- maps ---- */

struct queue {
	__uint(type, 22);
	__uint(max_entries, 64);
	__uint(value_size, 4);
};

struct queue first SEC(".maps"), second SEC(".maps");

struct {
	__uint(type, 12);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__array(values, struct queue);
} queues SEC(".maps") = { .values = { [0] = &first, [2] = &second } };

struct {
	__uint(type, 1);
	__uint(max_entries, 10);
	__uint(map_flags, 1);
	__type(key, u32);
	__type(value, struct state);
} states SEC(".maps");

struct {
	__uint(type, 11);
	__uint(max_entries, 10);
	__type(key, u32);
	__type(value, u32);
} unused SEC(".maps");

/* ---- global variables ---- */

struct pair {
	u32 a;
	u16 b;
};

const volatile u64 slice_ns;
const volatile bool strange;
const volatile u32 nr_cpu_ids = 1;
const volatile u64 __SCX_ENQ_LAST;
const volatile struct pair pairs[2] = { { 1, 2 }, { 3, 4 } };
const volatile s32 timeout_us = -1;
u64 counter = 7, zero;
s32 per_cpu[1] SEC(".data.per_cpu");
struct bpf_list_head entries __contains(entry, node) SEC(".bss.A");

/* ---- code ---- */

static __noinline int add(u32 i, void *context)
{
	*(u64 *)context += i;
	return 0;
}

static __noinline void insert(struct task_struct *p, u64 slice)
{
	if (scx_bpf_dsq_insert___v2___compat)
		scx_bpf_dsq_insert___v2___compat(p, 0, slice, 0);
	else
		scx_bpf_dispatch(p, 0, slice, 0);
}

__noinline int times_counter(u64 x)
{
	return x * counter;
}

/* Its only caller's argument is known, and so is its result. */
__noinline int by_mode(u32 mode)
{
	return mode == 1 ? bpf_probe_read_user(0, 0, 0) : 3;
}

SEC("struct_ops/select_cpu") int features_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 key = 3;
	struct state *state = bpf_map_lookup_elem(&states, &key);

	if (state)
		state->sum += p->pid + p->inside;
	if (!bpf_map_lookup_elem(&queues, &key))
		return by_mode(0) == 3 ? 1 : bpf_probe_read_user(0, 0, 0);
	if (strange) {
		bpf_probe_read_user(0, 0, 0);
		return p->absent;
	}
	if (__builtin_preserve_field_info(p->absent, FIELD_EXISTS))
		return p->absent;
	return times_counter(p->scx.slice);
}

SEC("struct_ops/enqueue") void features_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_struct___old *old = (void *)p;
	struct entry *entry = bpf_obj_new_impl(__builtin_btf_type_id(*(struct entry *)0, 0), 0);
	u64 sum = 0;

	bpf_loop(4, add, &sum, 0);
	insert(p, slice_ns);
	per_cpu[0] += sum + p->narrow;
	if (LINUX_KERNEL_VERSION < 0x60c00)
		bpf_probe_read_user(0, 0, 0);
	if (CONFIG_ABSENT)
		bpf_probe_read_user(0, 0, 0);
	if (__builtin_preserve_enum_value(*(enum scx_enq_flags *)SCX_ENQ_ABSENT, ENUMERATOR_EXISTS))
		bpf_probe_read_user(0, 0, 0);
	p->scx.dsq_vtime = __builtin_preserve_enum_value(*(enum scx_enq_flags *)SCX_ENQ_LAST, ENUMERATOR_VALUE) + pairs[1].b;
	if (__builtin_preserve_field_info(old->state, FIELD_EXISTS))
		zero += old->state;
	if (entry)
		entry->number = (u64)&entries + __SCX_ENQ_LAST + timeout_us;
	zero += __builtin_preserve_field_info(p->high_bits, FIELD_OFFSET);
	zero += __builtin_preserve_field_info(p->high_bits, FIELD_SIZE) << 8;
	zero += __builtin_preserve_field_info(p->high_bits, FIELD_SIGNED) << 16;
	zero += (u64)__builtin_preserve_field_info(p->high_bits, FIELD_LSHIFT) << 24;
	zero += (u64)__builtin_preserve_field_info(p->high_bits, FIELD_RSHIFT) << 32;
}

SEC("tp_btf/sched_switch") int never_attached(u64 *ctx)
{
	return bpf_probe_read_user(0, 0, 0);
}

struct sched_ext_ops {
	int (*select_cpu)(struct task_struct *p, s32 prev, u64 flags);
	void (*enqueue)(struct task_struct *p, u64 flags);
	void (*tick)(struct task_struct *p);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

SEC(".struct_ops.link") struct sched_ext_ops features_ops = {
	.select_cpu = (void *)features_select_cpu,
	.enqueue = (void *)features_enqueue,
	.flags = 3,
	.timeout_ms = 5000,
	.name = "features",
};

SEC("license") char _license[] = "GPL";
