/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of an object by name, through its BTF, and the kernel's enumerators that its constants want. */
#include "loader.h"

#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>

struct bpf_map *variable_find(struct bpf_object *object, const char *section, const char *name, uint32_t *offset, uint32_t *bytes)
{
	const struct btf *btf = bpf_object__btf(object);
	int id = btf ? btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC) : -1;
	const struct btf_type *type;
	struct bpf_map *map;

	if (id < 0)
		return NULL;
	type = btf__type_by_id(btf, id);
	for (int i = 0; i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *variable = btf_var_secinfos(type) + i;

		if (strcmp(btf__name_by_offset(btf, btf__type_by_id(btf, variable->type)->name_off), name))
			continue;
		*offset = variable->offset;
		*bytes = variable->size;
		bpf_object__for_each_map(map, object)
			if (!strcmp(bpf_map__name(map), section) || strstr(bpf_map__name(map), section))
				return map;
	}
	return NULL;
}

bool variable_read(struct bpf_object *object, const char *section, const char *name, void *value, uint32_t bytes)
{
	uint32_t offset, size, key = 0;
	struct bpf_map *map = variable_find(object, section, name, &offset, &size);
	bool read = false;
	char *data;

	if (!map || size != bytes)
		return false;
	data = malloc(bpf_map__value_size(map));
	if (data && !bpf_map__lookup_elem(map, &key, sizeof(key), data, bpf_map__value_size(map), 0)) {
		memcpy(value, data + offset, bytes);
		read = true;
	}
	free(data);
	return read;
}

/* Value of an enumerator in the kernel's BTF. */
static bool enumerator(const struct btf *kernel, const char *name, uint64_t *value)
{
	for (uint32_t id = 1; id < btf__type_cnt(kernel); id++) {
		const struct btf_type *type = btf__type_by_id(kernel, id);
		bool wide = btf_is_enum64(type);

		if (!wide && !btf_is_enum(type))
			continue;
		for (int i = 0; i < btf_vlen(type); i++) {
			uint32_t at = wide ? btf_enum64(type)[i].name_off : btf_enum(type)[i].name_off;

			if (strcmp(btf__name_by_offset(kernel, at), name))
				continue;
			*value = wide ? btf_enum64_value(&btf_enum64(type)[i]) : (uint64_t)(int64_t)btf_enum(type)[i].val;
			return true;
		}
	}
	return false;
}

static void set_constant(struct bpf_object *object, const char *name, uint64_t value)
{
	uint32_t offset, bytes;
	struct bpf_map *map = variable_find(object, ".rodata", name, &offset, &bytes);
	size_t size;
	char *data = map ? bpf_map__initial_value(map, &size) : NULL;

	if (data && offset + bytes <= size && bytes <= sizeof(value))
		memcpy(data + offset, &value, bytes);
}

void constants_fill(struct bpf_object *object)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	const struct btf *btf = bpf_object__btf(object);
	const struct btf_type *section;
	int id;

	if (!kernel)
		fatal("the running kernel has no BTF (/sys/kernel/btf/vmlinux)");
	if (btf__find_by_name_kind(kernel, "sched_ext_ops", BTF_KIND_STRUCT) < 0)
		fatal("the running kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT)");
	id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	section = id < 0 ? NULL : btf__type_by_id(btf, id);
	for (int i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *variable = btf_var_secinfos(section) + i;
		const char *name = btf__name_by_offset(btf, btf__type_by_id(btf, variable->type)->name_off);
		uint64_t value;

		/* An enumerator that this kernel lacks stays 0, which is how objects learn of it. */
		if (!strncmp(name, "__SCX_", 6) && enumerator(kernel, name + 2, &value))
			set_constant(object, name, value);
	}
	set_constant(object, "nr_cpu_ids", libbpf_num_possible_cpus());
	btf__free(kernel);
}
