/* SPDX-License-Identifier: Apache-2.0 */
/* Loads one sched_ext object into the running kernel, attaches it, and brings its recording back. */
#ifndef VTIME_LOADER_H
#define VTIME_LOADER_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

/* A line of the input file that could not be applied; prints `FILE:LINE: message` and exits with status 2. */
struct input;

/* Reads the whole file; the lines that concern the object before loading are applied by input_configure(). */
struct input *input_read(const char *path, const char *cgroup_root, bool create_cgroups);

/* Read-only variables, ops.flags, ops.timeout_ms. Returns the struct_ops map to attach. */
struct bpf_map *input_configure(struct input *input, struct bpf_object *object);

/* Contents of maps; the object has been loaded. */
void input_fill_maps(struct input *input, struct bpf_object *object);

/*
 * Sets every read-only variable __SCX_X of the object to the running kernel's enumerator SCX_X, and nr_cpu_ids to the number
 * of CPUs. Exits if the kernel has no sched_ext.
 */
void constants_fill(struct bpf_object *object);

/*
 * The data section of an object that holds a variable.
 * @offset, @bytes: where the variable lies in the section's map
 */
struct bpf_map *variable_find(struct bpf_object *object, const char *section, const char *name, uint32_t *offset, uint32_t *bytes);

/*
 * Copies a variable as it is now in the kernel (libbpf's own image of a data section is that of before loading). False if
 * the object has none of this name and size.
 */
bool variable_read(struct bpf_object *object, const char *section, const char *name, void *value, uint32_t bytes);

struct recording;

/* NULL if the object does not record. Writes to `path` (a file or a character device). */
struct recording *recording_open(struct bpf_object *object, const char *path);

/* Takes what the ring buffer holds. */
void recording_drain(struct recording *recording);

/* Takes the rest and finishes the file; returns the number of records that found no room in the ring buffer. */
uint64_t recording_close(struct recording *recording, struct bpf_object *object);

/* Layout of `exit_info` in common.h. */
struct exit_info {
	int32_t kind;
	uint32_t reserved;
	int64_t code;
	char reason[128];
	char message[1024];
};

void fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
