// SPDX-License-Identifier: GPL-2.0-only
//
// A scheduler with mistakes to choose from, for the tests of the tools that have to find them. planted.bpf.o is made by
//   clang-19 -target bpf -mcpu=v3 -O2 -g -fno-addrsig -ffile-prefix-map=$PWD/= -ffile-compilation-dir=. -I../../bpf -c planted.bpf.c -o planted.bpf.o && llvm-strip-19 -g planted.bpf.o
// The kernel's verifier would refuse the last two.

#include "common.h"

enum mistake {
	NO_MISTAKE,
	/* Tasks go to CPUs by their number, whatever their masks say. */
	IGNORES_AFFINITY,
	/* One enqueue in a hundred does nothing. */
	LOSES_TASKS,
	/* The last one queued is the first one served. */
	SERVES_LAST_FIRST,
	/* A store to an address that is nothing's. */
	WRITES_ANYWHERE,
	NEVER_RETURNS,
};

const volatile u32 mistake = NO_MISTAKE;
const volatile u64 slice_ns = 3000000;

#define SHARED_DSQ 0

/* Number of enqueues. */
u64 enqueued;

OPS3(s32, planted_select_cpu, struct task_struct *, p, s32, prev_cpu, u64, wake_flags)
{
	return prev_cpu;
}

OPS2(void, planted_enqueue, struct task_struct *, p, u64, enq_flags)
{
	u64 nth = __sync_fetch_and_add(&enqueued, 1);

	switch (mistake) {
	case IGNORES_AFFINITY:
		dsq_insert(p, SCX_DSQ_LOCAL_ON | p->pid % nr_cpu_ids, slice_ns, enq_flags);
		return;
	case LOSES_TASKS:
		if (nth % 100 == 99)
			return;
		break;
	case WRITES_ANYWHERE:
		if (nth == 100)
			*(volatile u64 *)(p->pid + 0x12345678l) = 1;
		break;
	case NEVER_RETURNS:
		while (nth > 100)
			asm volatile("");
		break;
	}
	/* Keys fall from one to the next: the DSQ is a stack. */
	if (mistake == SERVES_LAST_FIRST)
		dsq_insert_vtime(p, SHARED_DSQ, slice_ns, (1ull << 62) - nth, enq_flags);
	else
		dsq_insert(p, SHARED_DSQ, slice_ns, enq_flags);
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_IDLE);
}

OPS2(void, planted_dispatch, s32, cpu, struct task_struct *, prev)
{
	dsq_move_to_local(SHARED_DSQ);
}

OPS0(s32, planted_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops planted = {
	.select_cpu = (void *)planted_select_cpu,
	.enqueue = (void *)planted_enqueue,
	.dispatch = (void *)planted_dispatch,
	.init = (void *)planted_init,
	.name = "planted",
};
