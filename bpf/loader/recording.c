/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording file: a header of 64 bytes, then records as in record.h.
 *
 *   0  8 bytes  "VTIMEREC"          16  u64  number of records, ~0 if unknown (the output can't seek)
 *   8  u32      version             24  u64  records that found no room in the ring buffer, ~0 if unknown
 *  12  u32      bytes of a record   32  32 bytes, 0
 */
#include "../record.h"
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct header {
	char magic[8];
	uint32_t version, record_bytes;
	uint64_t records, dropped;
	uint64_t reserved[4];
};

struct recording {
	const char *path;
	int fd;
	bool seeks, header_written;
	struct ring_buffer *ring;
	uint64_t count;
	size_t used;
	char buffer[1 << 16];
};

static void put(struct recording *recording, const void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(recording->fd, (const char *)data + done, bytes - done);

		if (n < 0 && errno != EINTR)
			fatal("%s: %s", recording->path, strerror(errno));
		done += n > 0 ? n : 0;
	}
}

static int take(void *context, void *data, size_t bytes)
{
	struct recording *recording = context;

	if (bytes != sizeof(struct vtime_record))
		fatal("a record has %zu bytes instead of %zu: loader and object are of different versions", bytes,
		      sizeof(struct vtime_record));
	if (recording->used + bytes > sizeof(recording->buffer)) {
		put(recording, recording->buffer, recording->used);
		recording->used = 0;
	}
	memcpy(recording->buffer + recording->used, data, bytes);
	recording->used += bytes;
	recording->count++;
	return 0;
}

static void put_header(struct recording *recording, uint64_t records, uint64_t dropped)
{
	struct header header = { .version = VTIME_RECORD_VERSION,
				 .record_bytes = sizeof(struct vtime_record),
				 .records = records,
				 .dropped = dropped };

	memcpy(header.magic, "VTIMEREC", 8);
	put(recording, &header, sizeof(header));
}

struct recording *recording_open(struct bpf_object *object, const char *path)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "records");
	struct recording *recording;

	if (!map)
		return NULL;
	recording = calloc(1, sizeof(*recording));
	recording->path = path;
	recording->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (recording->fd < 0)
		fatal("%s: %s", path, strerror(errno));
	recording->seeks = lseek(recording->fd, 0, SEEK_CUR) >= 0;
	recording->ring = ring_buffer__new(bpf_map__fd(map), take, recording, NULL);
	if (!recording->ring)
		fatal("cannot read the ring buffer: %s", strerror(errno));
	put_header(recording, ~0ull, ~0ull);
	return recording;
}

void recording_drain(struct recording *recording)
{
	if (recording)
		ring_buffer__consume(recording->ring);
}

uint64_t recording_close(struct recording *recording, struct bpf_object *object)
{
	uint64_t dropped = 0;

	if (!recording)
		return 0;
	recording_drain(recording);
	put(recording, recording->buffer, recording->used);
	if (!variable_read(object, ".bss", "records_dropped", &dropped, sizeof(dropped)))
		fatal("the object does not count records that found no room (records_dropped)");
	if (recording->seeks) {
		lseek(recording->fd, 0, SEEK_SET);
		put_header(recording, recording->count, dropped);
	}
	close(recording->fd);
	fprintf(stderr, "recorded %llu, dropped %llu\n", (unsigned long long)recording->count, (unsigned long long)dropped);
	ring_buffer__free(recording->ring);
	free(recording);
	return dropped;
}
