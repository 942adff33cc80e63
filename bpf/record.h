/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a recording scheduler writes into its ring buffer `records`: one record of 64 bytes per callback and per decision
 * inside a callback, little-endian, in the order in which they were reserved. That order is the order of a recording;
 * times of different CPUs may be swapped by less than the length of a callback.
 *
 * Fields that a kind does not name are 0. `cpu` is the CPU that executes the callback.
 */
#ifndef VTIME_RECORD_H
#define VTIME_RECORD_H

#define VTIME_RECORD_VERSION 1
#define VTIME_NO_GROUP 0xffffffffu

enum vtime_record_kind {
	/* The scheduler starts: target = number of CPUs, group = number of groups, result = 1 if as coded, slice_ns = slice,
	 * vtime = what is added to the clock wherever the policy sets a vtime to "now", flags = VTIME_RECORD_VERSION. */
	VTIME_INIT = 1,
	/* The kernel ends it: flags = enum scx_exit_kind, vtime = exit code, target = records that found no room. */
	VTIME_EXIT = 2,
	/* A task joins the class: group = its thread group (tgid), comm in slice_ns and vtime (16 bytes). */
	VTIME_ENABLE = 3,
	/* It leaves the class, or the system. */
	VTIME_DISABLE = 4,
	VTIME_EXIT_TASK = 5,
	/* dsq = 64 bits of the new mask, group = which 64 (CPUs 64 × group and up), target = number of allowed CPUs. */
	VTIME_SET_CPUMASK = 6,
	/* flags = weight. */
	VTIME_SET_WEIGHT = 7,
	/* flags = wake_flags, group = previous CPU, target = CPU returned. */
	VTIME_SELECT_CPU = 8,
	/* flags = enq_flags, target = the task's CPU. */
	VTIME_RUNNABLE = 9,
	/* Written before the insertion: flags = enq_flags, dsq, slice_ns and vtime as inserted (vtime 0 for FIFO),
	 * group = VTIME_NO_GROUP if unmapped, target = the task's CPU, result = 1 if inserted by vtime, 2 if only queued in a map. */
	VTIME_ENQUEUE = 10,
	/* A task leaves a user DSQ or the scheduler's custody: flags = deq_flags. 7.x also calls this when a task moves to a local DSQ. */
	VTIME_DEQUEUE = 11,
	/* dispatch() begins: target = CPU that needs a task, pid = previous task or 0, flags = its scx.flags, slice_ns = what is left of its slice. */
	VTIME_DISPATCH = 12,
	/* One attempt to move a task was made: dsq = from where, target = to which CPU, result = 1 if one was moved; pid if the program knows it. */
	VTIME_MOVE = 13,
	/* The slice of the task is set outside an insertion. */
	VTIME_SET_SLICE = 14,
	/* exec_ns = sum_exec_runtime, vtime = the task's vtime, slice_ns = its slice. */
	VTIME_RUNNING = 15,
	/* The same, after the callback's own arithmetic; result = 1 if still runnable. */
	VTIME_STOPPING = 16,
	/* The same as RUNNING. */
	VTIME_TICK = 17,
	/* flags = deq_flags, group = sleeps per second as known now. */
	VTIME_QUIESCENT = 18,
	/* One look for an idle CPU: target = CPU taken, negative if none, group = where it looked, VTIME_NO_GROUP = all the task may use. */
	VTIME_PICK_IDLE = 19,
	/* target = CPU, flags = enum scx_kick_flags, pid = on whose behalf (0: timer or dispatch). */
	VTIME_KICK = 20,
	/* A CPU enters (result = 1) or leaves idleness: target = CPU. */
	VTIME_UPDATE_IDLE = 21,
	/* The scheduler's timer has fired. */
	VTIME_TIMER = 22,
	/* Busy-poll detection: dsq = instruction pointer, vtime = variance, group = factor from now on. */
	VTIME_SAMPLE = 23,
};

struct vtime_record {
	unsigned long long time_ns; /* CLOCK_MONOTONIC; what the policy takes for "now" in this callback */
	unsigned int pid;
	unsigned short cpu;
	unsigned char kind;
	unsigned char result;
	unsigned long long flags;
	unsigned long long dsq;
	unsigned long long slice_ns;
	unsigned long long vtime;
	unsigned long long exec_ns;
	int target;
	unsigned int group;
};

#endif
