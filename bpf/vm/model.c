// SPDX-License-Identifier: Apache-2.0
// Reads the runner's input: one record a line, words separated by blanks (src/bpf/vm/workload.ts).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "workload.h"

struct model model;

static const char *const OP_NAMES[OPS] = {
	"run",	"sleep",   "block", "wake", "spin", "spin_event", "signal", "fork",     "join",
	"barrier", "yield", "exit", "set",  "loop", "jump",	  "affinity", "branch",
};
static const char *const KIND_NAMES[DISTRIBUTION_KINDS] = {
	"constant", "uniform", "exponential", "lognormal", "hyperexponential", "pareto", "empirical",
};
static const char *const POLICY_NAMES[] = {
	[0] = "fair", [1] = "fifo", [2] = "rr", [7] = "ext",
};

void die(const char *what, const char *detail)
{
	fprintf(stderr, "workload: %s %s\n", what, detail);
	exit(2);
}

/** Appends a zeroed element of `size` bytes to a growing array. */
static void *append(void *array, uint32_t *count, size_t size)
{
	void **items = array;

	if ((*count & (*count - 1)) == 0) {
		*items = realloc(*items, size * (*count ? *count * 2 : 1));
		if (!*items)
			die("out of memory", "");
	}
	char *element = (char *)*items + size * (*count)++;
	return memset(element, 0, size);
}

static int named(const char *name, const char *const *names, int count, const char *line)
{
	for (int i = 0; i < count; i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return i;
	die("unknown name in", line);
}

static void read_line(const char *line)
{
	char kind[32] = "", name[32] = "", cgroup[PATH_BYTES] = "", comm[COMM_BYTES] = "";
	int at = 0;

	if (sscanf(line, "%31s %n", kind, &at) < 1)
		return;
	const char *rest = line + at;
	bool known = true;
	int fields = 0, wanted = 0;

	if (strcmp(kind, "run") == 0) {
		wanted = 3;
		fields = sscanf(rest, "%" SCNu64 " %" SCNu64 " %" SCNu32, &model.seed, &model.horizon_ns, &model.cpus);
	} else if (strcmp(kind, "instruction") == 0) {
		struct instruction *i = append(&model.program, &model.instructions, sizeof(*i));
		wanted = 5;
		fields = sscanf(rest, "%31s %" SCNu8 " %" SCNu16 " %" SCNu32 " %" SCNu64, name, &i->flags, &i->reg, &i->a,
				&i->value);
		i->op = named(name, OP_NAMES, OPS, line);
	} else if (strcmp(kind, "distribution") == 0) {
		struct distribution *d = append(&model.distributions, &model.distribution_count, sizeof(*d));
		wanted = 6;
		fields = sscanf(rest, "%31s %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, name, &d->points,
				&d->first_point, &d->p[0], &d->p[1], &d->p[2]);
		d->kind = named(name, KIND_NAMES, DISTRIBUTION_KINDS, line);
	} else if (strcmp(kind, "point") == 0) {
		struct point *p = append(&model.points, &model.point_count, sizeof(*p));
		wanted = 2;
		fields = sscanf(rest, "%" SCNu64 " %" SCNu64, &p->probability_q32, &p->value);
	} else if (strcmp(kind, "mask") == 0) {
		struct mask *m = append(&model.masks, &model.mask_count, sizeof(*m));
		wanted = MASK_WORDS;
		for (int length = 0; fields < MASK_WORDS; fields++, rest += length)
			if (sscanf(rest, "%" SCNx64 " %n", &m->words[fields], &length) < 1)
				break;
	} else if (strcmp(kind, "barrier") == 0) {
		struct barrier *b = append(&model.barriers, &model.barrier_count, sizeof(*b));
		wanted = 1;
		fields = sscanf(rest, "%" SCNu32, &b->parties);
	} else if (strcmp(kind, "hotplug") == 0) {
		struct hotplug *h = append(&model.hotplugs, &model.hotplug_count, sizeof(*h));
		wanted = 3;
		fields = sscanf(rest, "%" SCNu64 " %" SCNu32 " %" SCNu32, &h->at_ns, &h->cpu, &h->online);
	} else if (strcmp(kind, "task") == 0) {
		struct task *t = append(&model.tasks, &model.task_count, sizeof(*t));
		int background = 0;
		wanted = 11;
		fields = sscanf(rest, "%15s %127s %31s %d %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %d",
				comm, cgroup, name, &t->priority, &t->template_index, &t->ordinal, &t->pc, &t->mask, &t->start_ns,
				&t->start_distribution, &background);
		t->policy = named(name, POLICY_NAMES, sizeof(POLICY_NAMES) / sizeof(*POLICY_NAMES), line);
		t->background = background;
		memcpy(t->comm, comm, sizeof(comm));
		memcpy(t->cgroup, cgroup, sizeof(cgroup));
	} else {
		known = kind[0] == '#';
	}
	if (!known || fields < wanted)
		die("cannot read the line", line);
}

/** Indices of the input that the interpreter follows without looking. */
static void check(void)
{
	for (uint32_t i = 0; i < model.instructions; i++) {
		const struct instruction *in = model.program + i;
		uint32_t bound = UINT32_MAX;

		if (in->flags & FLAG_DRAW)
			bound = model.distribution_count;
		else if (in->op == OP_JUMP || in->op == OP_LOOP || in->op == OP_FORK || in->op == OP_BRANCH)
			bound = model.instructions;
		else if (in->op == OP_AFFINITY)
			bound = model.mask_count;
		else if ((in->op == OP_BARRIER && !(in->flags & FLAG_OWN)) || in->op == OP_SIGNAL || in->op == OP_SPIN_EVENT)
			bound = model.barrier_count;
		if (in->a >= bound || in->reg >= REGISTERS)
			die("an instruction refers to nothing:", OP_NAMES[in->op]);
	}
	for (uint32_t i = 0; i < model.task_count; i++) {
		const struct task *t = model.tasks + i;

		if (t->pc >= model.instructions || t->mask >= model.mask_count ||
		    (t->start_distribution != UINT32_MAX && t->start_distribution >= model.distribution_count))
			die("a task refers to nothing:", t->comm);
	}
}

void read_model(const char *path)
{
	char line[4096];
	FILE *file = fopen(path, "r");

	if (!file || !fgets(line, sizeof(line), file) || strcmp(line, "vtime-workload 1\n") != 0)
		die("not a workload:", path);
	while (fgets(line, sizeof(line), file))
		read_line(line);
	fclose(file);
	check();
}
