// SPDX-License-Identifier: GPL-2.0-only
//
// Five FIFO queues by weight, kept in queue maps: the simulator's policy `five-level`. `strict`: the highest level that has a
// task, else turns of 1, 2, 4, 8 and 16 tasks from levels 0 to 4.
//
// Tasks wait in the scheduler's own queues, not in DSQs. An entry that is no longer good (its task was dequeued meanwhile)
// is told by its ticket.

#define OWN_DEQUEUE
#define OWN_RUNNABLE
#define OWN_STOPPING
#include "recording.h"

#define LEVELS 5
#define QUEUE_ENTRIES 16384

const volatile u64 slice_ns = 20000000;
const volatile bool strict = false;
/* With strict: a task that has waited this long is served; 0 turns it off. */
const volatile u64 starvation_ns = 0;

struct entry {
	s32 pid;
	u32 ticket;
};

struct queue {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, QUEUE_ENTRIES);
	__type(value, struct entry);
} level0 SEC(".maps"), level1 SEC(".maps"), level2 SEC(".maps"), level3 SEC(".maps"), level4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LEVELS);
	__type(key, u32);
	__array(values, struct queue);
} levels SEC(".maps") = {
	.values = { [0] = &level0, [1] = &level1, [2] = &level2, [3] = &level3, [4] = &level4 },
};

/* Entries of each queue, good or not. */
u32 entries[LEVELS];

struct task_state {
	/* Of the entry that counts, if any. */
	u32 ticket;
	u32 reserved;
	u64 runnable_since;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, s32);
	__type(value, struct task_state);
} task_map SEC(".maps");

/* The level a CPU serves, and how many tasks it may still take from there. */
struct turn {
	u32 level;
	u32 left;
};

struct turn turns[MAX_CPUS];

static __always_inline struct task_state *state_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_map, p, NULL, 0);
}

/* scx.weight is 100 at nice 0, the middle; a quarter, half, twice and four times of it are the bounds. */
static __always_inline u32 level_of(struct task_struct *p)
{
	u32 weight = p->scx.weight;

	return weight <= 25 ? 0 : weight <= 50 ? 1 : weight < 200 ? 2 : weight < 400 ? 3 : 4;
}

OPS3(s32, fivelevel_select_cpu, struct task_struct *, p, s32, prev_cpu, u64, wake_flags)
{
	return select_idle_cpu(p, prev_cpu, wake_flags, slice_ns);
}

OPS2(void, fivelevel_enqueue, struct task_struct *, p, u64, enq_flags)
{
	struct task_state *state = state_of(p);
	u32 level = level_of(p), index = level;
	void *queue = bpf_map_lookup_elem(&levels, &index);
	struct entry entry;

	if (!state || !queue || level >= LEVELS)
		return;
	entry.pid = p->pid;
	entry.ticket = ++state->ticket;
	record_insertion(p, level, slice_ns, 0, enq_flags, 2);
	if (bpf_map_push_elem(queue, &entry, 0))
		dsq_insert(p, SCX_DSQ_GLOBAL, slice_ns, enq_flags);
	else
		__sync_fetch_and_add(&entries[level], 1);
}

OPS2(void, fivelevel_dequeue, struct task_struct *, p, u64, deq_flags)
{
	struct task_state *state = state_of(p);

	record(VTIME_DEQUEUE, bpf_ktime_get_ns(), .pid = p->pid, .flags = deq_flags);
	if (state)
		state->ticket++;
}

/* What an entry says to a CPU. */
enum verdict {
	GONE,
	NOT_HERE,
	TOO_YOUNG,
	TAKEN,
};

/* Inserts the entry's task into the local DSQ if it may run here and has waited for `wait_ns`. */
static enum verdict try(struct entry *entry, s32 cpu, u64 wait_ns, bool take)
{
	struct task_struct *p = bpf_task_from_pid(entry->pid);
	enum verdict verdict = GONE;
	struct task_state *state;

	if (!p)
		return GONE;
	state = state_of(p);
	if (state && state->ticket == entry->ticket) {
		if (!allowed(p, cpu))
			verdict = NOT_HERE;
		else if (wait_ns && bpf_ktime_get_ns() - state->runnable_since < wait_ns)
			verdict = TOO_YOUNG;
		else
			verdict = TAKEN;
		if (verdict == TAKEN && take)
			dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	}
	bpf_task_release(p);
	return verdict;
}

/*
 * Takes the first task of a level that may run on the CPU. Entries before it go round to the end, and then the rest does,
 * which leaves them in their order.
 */
static bool take(u32 level, s32 cpu, u64 wait_ns)
{
	u32 index = level;
	void *queue = bpf_map_lookup_elem(&levels, &index);
	bool decided = false, taken = false, turned = false;
	struct bpf_iter_num it;
	struct entry entry;

	if (!queue || level >= LEVELS)
		return false;
	/* Mostly the first entry decides. */
	if (bpf_map_peek_elem(queue, &entry) || (wait_ns && try(&entry, cpu, wait_ns, false) == TOO_YOUNG))
		return false;
	bpf_iter_num_new(&it, 0, entries[level]);
	while (bpf_iter_num_next(&it)) {
		enum verdict verdict = NOT_HERE;

		if (bpf_map_pop_elem(queue, &entry))
			break;
		if (!decided) {
			verdict = try(&entry, cpu, wait_ns, true);
			taken = verdict == TAKEN;
			decided = taken || verdict == TOO_YOUNG;
		}
		if (verdict == GONE || verdict == TAKEN) {
			__sync_fetch_and_add(&entries[level], -1);
			if (taken && !turned)
				break;
		} else {
			turned = true;
			bpf_map_push_elem(queue, &entry, 0);
		}
	}
	bpf_iter_num_destroy(&it);
	record(VTIME_MOVE, bpf_ktime_get_ns(), .dsq = level, .target = cpu, .result = taken, .pid = taken ? entry.pid : 0);
	return taken;
}

static __always_inline void dispatch_weighted(s32 cpu, struct turn *turn)
{
	for (u32 tries = 0; tries <= LEVELS; tries++) {
		if (turn->left && take(turn->level, cpu, 0)) {
			turn->left--;
			return;
		}
		turn->level = (turn->level + 1) % LEVELS;
		turn->left = 1 << turn->level;
	}
}

static __always_inline void dispatch_strict(s32 cpu, struct task_struct *prev)
{
	bool runnable = prev && (prev->scx.flags & SCX_TASK_QUEUED);

	for (u32 level = 0; level < LEVELS && starvation_ns; level++) {
		if (take(level, cpu, starvation_ns))
			return;
	}
	/* The running task is enqueued only after this decision: a higher level keeps its CPU by getting another slice. */
	for (u32 below = 0; below < LEVELS; below++) {
		u32 level = LEVELS - 1 - below;

		if (take(level, cpu, 0))
			return;
		if (runnable && level_of(prev) == level) {
			record(VTIME_SET_SLICE, bpf_ktime_get_ns(), .pid = prev->pid, .slice_ns = slice_ns);
			set_slice(prev, slice_ns);
			return;
		}
	}
}

OPS2(void, fivelevel_dispatch, s32, cpu, struct task_struct *, prev)
{
	record_dispatch(cpu, prev);
	if (strict)
		dispatch_strict(cpu, prev);
	else
		dispatch_weighted(cpu, &turns[CPU_INDEX(cpu)]);
}

OPS2(void, fivelevel_runnable, struct task_struct *, p, u64, enq_flags)
{
	struct task_state *state = state_of(p);
	u64 now = bpf_ktime_get_ns();

	if (state)
		state->runnable_since = now;
	record(VTIME_RUNNABLE, now, .pid = p->pid, .flags = enq_flags, .target = scx_bpf_task_cpu(p));
}

OPS2(void, fivelevel_stopping, struct task_struct *, p, bool, runnable)
{
	struct task_state *state = state_of(p);

	if (state && runnable)
		state->runnable_since = bpf_ktime_get_ns();
	record_stint(VTIME_STOPPING, p, p->scx.dsq_vtime, runnable);
}

OPS2(s32, fivelevel_init_task, struct task_struct *, p, struct scx_init_task_args *, args)
{
	return bpf_task_storage_get(&task_map, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

OPS0(s32, fivelevel_init)
{
	for (u32 cpu = 0; cpu < MAX_CPUS; cpu++)
		turns[cpu].left = 1;
	record(VTIME_INIT, bpf_ktime_get_ns(), .flags = VTIME_RECORD_VERSION, .target = nr_cpu_ids, .slice_ns = slice_ns);
	return machine_is_known() ? 0 : -EINVAL;
}

OPS1(void, fivelevel_exit, struct scx_exit_info *, info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops fivelevel = {
	RECORDING_CALLBACKS
	.select_cpu = (void *)fivelevel_select_cpu,
	.enqueue = (void *)fivelevel_enqueue,
	.dequeue = (void *)fivelevel_dequeue,
	.dispatch = (void *)fivelevel_dispatch,
	.runnable = (void *)fivelevel_runnable,
	.stopping = (void *)fivelevel_stopping,
	.init_task = (void *)fivelevel_init_task,
	.init = (void *)fivelevel_init,
	.exit = (void *)fivelevel_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_SWITCH_PARTIAL,
	.name = "fivelevel",
};
