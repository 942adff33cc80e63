/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input file: what a scheduler is told before it starts, one statement a line, `#` begins a comment.
 *
 *   scheduler NAME                 the struct_ops variable to attach; needed if the object has several
 *   flags NUMBER                   added to ops.flags
 *   timeout_ms NUMBER              ops.timeout_ms
 *   rodata NAME NUMBER             a read-only variable
 *   rodata NAME[INDEX] NUMBER      an element of a read-only array
 *   max_entries MAP NUMBER         the size of a map
 *   array NAME NUMBER              elements of an array that is alone in its data section
 *   map NAME VALUE... = VALUE...   one element of a map: the bytes of its key, the bytes of its value
 *
 * A VALUE is u8:N, u16:N, u32:N, u64:N (little-endian, N decimal or 0x...) or cgroup:PATH, the 64-bit id of the cgroup
 * PATH below the root of the unified hierarchy. src/bpf/loader-input.ts writes such files from a config.
 */
#include "loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_WORDS 256
#define MAX_BYTES 4096

struct line {
	int number;
	int nr_words;
	char *words[MAX_WORDS];
	char text[8192];
	struct line *next;
};

struct input {
	const char *path;
	const char *cgroup_root;
	bool create_cgroups;
	struct line *lines;
};

#define wrong(input, line, format, ...) fatal("%s:%d: " format, (input)->path, (line)->number, ##__VA_ARGS__)

struct input *input_read(const char *path, const char *cgroup_root, bool create_cgroups)
{
	struct input *input = calloc(1, sizeof(*input));
	struct line **end = &input->lines;
	FILE *file = fopen(path, "r");
	char text[8192];

	if (!file)
		fatal("%s: %s", path, strerror(errno));
	*input = (struct input){ .path = path, .cgroup_root = cgroup_root, .create_cgroups = create_cgroups };
	for (int number = 1; fgets(text, sizeof(text), file); number++) {
		struct line *line = calloc(1, sizeof(*line));

		line->number = number;
		if (strlen(text) == sizeof(text) - 1)
			wrong(input, line, "line is longer than %zu bytes", sizeof(text) - 2);
		text[strcspn(text, "#\n")] = 0;
		strcpy(line->text, text);
		for (char *word = strtok(line->text, " \t\r"); word; word = strtok(NULL, " \t\r")) {
			if (line->nr_words == MAX_WORDS)
				wrong(input, line, "more than %d words", MAX_WORDS);
			line->words[line->nr_words++] = word;
		}
		if (!line->nr_words) {
			free(line);
			continue;
		}
		*end = line;
		end = &line->next;
	}
	fclose(file);
	return input;
}

static uint64_t number(struct input *input, struct line *line, const char *word)
{
	char *rest;
	uint64_t value;

	errno = 0;
	value = strtoull(word, &rest, 0);
	if (errno || *rest || rest == word || *word == '-')
		wrong(input, line, "expected a number, got \"%s\"", word);
	return value;
}

static void expect_words(struct input *input, struct line *line, int count)
{
	if (line->nr_words != count)
		wrong(input, line, "\"%s\" takes %d words, got %d", line->words[0], count - 1, line->nr_words - 1);
}

/* Sets an integer member of sched_ext_ops; `add` keeps the bits that are set. */
static void set_ops_member(struct input *input, struct line *line, struct bpf_object *object, struct bpf_map *ops, const char *member,
			   uint64_t value, bool add)
{
	const struct btf *btf = bpf_object__btf(object);
	const struct btf_type *type = btf__type_by_id(btf, btf__find_by_name_kind(btf, "sched_ext_ops", BTF_KIND_STRUCT));
	size_t size;
	char *data = bpf_map__initial_value(ops, &size);

	for (int i = 0; type && data && i < btf_vlen(type); i++) {
		const struct btf_member *m = btf_members(type) + i;
		int bytes = btf__resolve_size(btf, m->type);
		uint64_t old = 0;

		if (strcmp(btf__name_by_offset(btf, m->name_off), member))
			continue;
		memcpy(&old, data + m->offset / 8, bytes);
		value |= add ? old : 0;
		memcpy(data + m->offset / 8, &value, bytes);
		return;
	}
	wrong(input, line, "the object's sched_ext_ops has no member %s", member);
}

static void set_rodata(struct input *input, struct line *line, struct bpf_object *object)
{
	char *name = line->words[1], *bracket = strchr(name, '[');
	uint64_t value = number(input, line, line->words[2]), index = 0;
	const struct btf *btf = bpf_object__btf(object);
	uint32_t offset, bytes;
	struct bpf_map *map;
	size_t size;
	int id, element;
	char *data;

	if (bracket) {
		*bracket = 0;
		index = strtoull(bracket + 1, NULL, 0);
	}
	map = variable_find(object, ".rodata", name, &offset, &bytes);
	if (!map) {
		char section[256];

		snprintf(section, sizeof(section), ".rodata.%s", name);
		map = variable_find(object, section, name, &offset, &bytes);
	}
	if (!map)
		wrong(input, line, "the object has no read-only variable \"%s\"", name);
	data = bpf_map__initial_value(map, &size);
	/* An array's element size comes from its type. */
	element = bytes;
	id = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);
	if (id >= 0) {
		const struct btf_type *type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

		while (btf_is_mod(type) || btf_is_typedef(type))
			type = btf__type_by_id(btf, type->type);
		if (btf_is_array(type))
			element = btf__resolve_size(btf, btf_array(type)->type);
	}
	if (element > 8 || (!bracket && element != (int)bytes) || (index + 1) * element > bytes || offset + bytes > size)
		wrong(input, line, "\"%s\" is no integer of the object, or the index is too large", name);
	if (element < 8 && value >> (element * 8) && (int64_t)value >> (element * 8 - 1) != -1)
		wrong(input, line, "%s does not fit into the %d bytes of \"%s\"", line->words[2], element, name);
	memcpy(data + offset + index * element, &value, element);
}

static void set_max_entries(struct input *input, struct line *line, struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, line->words[1]);

	if (!map)
		wrong(input, line, "the object has no map \"%s\"", line->words[1]);
	if (bpf_map__set_max_entries(map, number(input, line, line->words[2])))
		wrong(input, line, "map %s cannot have %s entries", line->words[1], line->words[2]);
}

/* Example loaders make arrays as long as the machine has CPUs; their section is named after them. */
static void set_array_length(struct input *input, struct line *line, struct bpf_object *object)
{
	static const char *const sections[] = { ".data", ".rodata", ".bss" };
	const char *name = line->words[1];
	uint64_t count = number(input, line, line->words[2]);

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		char section[256];
		uint32_t offset, bytes;
		struct bpf_map *map;

		snprintf(section, sizeof(section), "%s.%s", sections[i], name);
		map = variable_find(object, section, name, &offset, &bytes);
		if (!map)
			continue;
		/* Declared with one element. */
		if (offset || !count || bpf_map__set_value_size(map, bytes * count))
			wrong(input, line, "array %s cannot have %s elements", name, line->words[2]);
		return;
	}
	wrong(input, line, "the object has no data section of its own for an array \"%s\"", name);
}

struct bpf_map *input_configure(struct input *input, struct bpf_object *object)
{
	struct bpf_map *map, *ops = NULL;
	const char *wanted = NULL;
	int found = 0;

	for (struct line *line = input->lines; line; line = line->next) {
		if (!strcmp(line->words[0], "scheduler")) {
			expect_words(input, line, 2);
			wanted = line->words[1];
		}
	}
	bpf_object__for_each_map(map, object) {
		if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS || (wanted && strcmp(bpf_map__name(map), wanted)))
			continue;
		ops = map;
		found++;
	}
	if (found != 1)
		fatal("%s: the object has %d schedulers%s%s; `scheduler NAME` chooses one", input->path, found, wanted ? " named " : "",
		      wanted ? wanted : "");
	for (struct line *line = input->lines; line; line = line->next) {
		const char *what = line->words[0];

		if (!strcmp(what, "flags")) {
			expect_words(input, line, 2);
			set_ops_member(input, line, object, ops, "flags", number(input, line, line->words[1]), true);
		} else if (!strcmp(what, "timeout_ms")) {
			expect_words(input, line, 2);
			set_ops_member(input, line, object, ops, "timeout_ms", number(input, line, line->words[1]), false);
		} else if (!strcmp(what, "rodata")) {
			expect_words(input, line, 3);
			set_rodata(input, line, object);
		} else if (!strcmp(what, "max_entries")) {
			expect_words(input, line, 3);
			set_max_entries(input, line, object);
		} else if (!strcmp(what, "array")) {
			expect_words(input, line, 3);
			set_array_length(input, line, object);
		} else if (strcmp(what, "scheduler") && strcmp(what, "map")) {
			wrong(input, line,
			      "unknown statement \"%s\"; known are scheduler, flags, timeout_ms, rodata, max_entries, array, map", what);
		}
	}
	return ops;
}

static uint64_t cgroup_id(struct input *input, struct line *line, const char *name)
{
	char path[4096];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", input->cgroup_root, name);
	for (char *slash = path + strlen(input->cgroup_root) + 1; input->create_cgroups && slash; slash = strchr(slash + 1, '/')) {
		char *next = strchr(slash + 1, '/');

		if (next)
			*next = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			wrong(input, line, "cannot create cgroup %s: %s", path, strerror(errno));
		if (!next)
			break;
		*next = '/';
		slash = next - 1;
	}
	/* The inode number of a cgroup is its id. */
	if (stat(path, &status))
		wrong(input, line, "no cgroup %s: %s", path, strerror(errno));
	return status.st_ino;
}

/* Appends the bytes of words[from..to) to `bytes`; returns how many. */
static size_t encode(struct input *input, struct line *line, int from, int to, unsigned char *bytes)
{
	size_t n = 0;

	for (int i = from; i < to; i++) {
		const char *word = line->words[i];
		const char *colon = strchr(word, ':');
		uint64_t value;
		int bits;

		if (!strncmp(word, "cgroup:", 7)) {
			bits = 64;
			value = cgroup_id(input, line, word + 7);
		} else {
			bits = word[0] == 'u' && colon ? atoi(word + 1) : 0;
			if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
				wrong(input, line, "expected u8:, u16:, u32:, u64: or cgroup:, got \"%s\"", word);
			value = number(input, line, colon + 1);
			if (bits < 64 && value >> bits)
				wrong(input, line, "%s does not fit", word);
		}
		if (n + bits / 8 > MAX_BYTES)
			wrong(input, line, "more than %d bytes", MAX_BYTES);
		memcpy(bytes + n, &value, bits / 8);
		n += bits / 8;
	}
	return n;
}

void input_fill_maps(struct input *input, struct bpf_object *object)
{
	for (struct line *line = input->lines; line; line = line->next) {
		unsigned char key[MAX_BYTES], value[MAX_BYTES];
		size_t key_bytes, value_bytes;
		struct bpf_map *map;
		int equals = 2;

		if (strcmp(line->words[0], "map"))
			continue;
		while (equals < line->nr_words && strcmp(line->words[equals], "="))
			equals++;
		if (line->nr_words < 5 || equals >= line->nr_words)
			wrong(input, line, "expected: map NAME KEY... = VALUE...");
		map = bpf_object__find_map_by_name(object, line->words[1]);
		if (!map)
			wrong(input, line, "the object has no map \"%s\"", line->words[1]);
		key_bytes = encode(input, line, 2, equals, key);
		value_bytes = encode(input, line, equals + 1, line->nr_words, value);
		if (key_bytes != bpf_map__key_size(map) || value_bytes != bpf_map__value_size(map))
			wrong(input, line, "map %s has keys of %u and values of %u bytes, got %zu and %zu", line->words[1],
			      bpf_map__key_size(map), bpf_map__value_size(map), key_bytes, value_bytes);
		if (bpf_map__update_elem(map, key, key_bytes, value, value_bytes, BPF_ANY))
			wrong(input, line, "cannot write into map %s: %s", line->words[1], strerror(errno));
	}
}
