// SPDX-License-Identifier: Apache-2.0
// `trace-dump DIR`: writes the pages of every CPU's trace buffer below DIR to stdout, each after two 32-bit words: CPU and
// length. cat would wait for more when a buffer is empty.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { PAGE_BYTES = 1 << 16, MAX_CPUS = 8192 };

int main(int count, char **arguments)
{
	static char page[PAGE_BYTES];
	char path[256];
	ssize_t length;

	if (count != 2)
		return 2;
	for (uint32_t cpu = 0; cpu < MAX_CPUS; cpu++) {
		snprintf(path, sizeof(path), "%s/cpu%u/trace_pipe_raw", arguments[1], cpu);
		int file = open(path, O_RDONLY | O_NONBLOCK);
		if (file < 0)
			break;
		while ((length = read(file, page, sizeof(page))) > 0) {
			uint32_t head[2] = { cpu, length };
			if (fwrite(head, sizeof(head), 1, stdout) != 1 || fwrite(page, length, 1, stdout) != 1)
				return 1;
		}
		close(file);
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
