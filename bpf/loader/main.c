/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtime-load OBJECT INPUT [--record FILE] [--ring-mb N] [--drain-ms N] [--cgroups DIR] [--create-cgroups] [--pin DIR]
 *            [-- COMMAND...]
 *
 * Attaches the scheduler of OBJECT, configured by INPUT (see input.c), until COMMAND ends, SIGTERM or SIGINT arrives, or the
 * kernel ejects it. The recording is taken out of the ring buffer at the end, or every --drain-ms: the loader is a
 * task too, and a recording should not show it. --pin puts the maps into a folder of a mounted bpf file system as long as
 * the scheduler is attached, so that a platform can write its cgroups into cMap.
 *
 * Exit status: that of COMMAND, else 0; 1 if the kernel ejected the scheduler, refused it, or records were lost; 2 for
 * wrong input.
 */
#include "loader.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("vtime-load: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static void usage(void)
{
	fatal("usage: vtime-load OBJECT INPUT [--record FILE] [--ring-mb N] [--drain-ms N] [--cgroups DIR] [--create-cgroups] "
	      "[--pin DIR] [-- COMMAND...]");
}

/* Whether the kernel has ended the scheduler; false if the object does not tell. */
static bool has_ended(struct bpf_object *object, struct exit_info *info)
{
	return variable_read(object, ".data.exit_info", "exit_info", info, sizeof(*info)) && info->kind;
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (!pid) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execvp(command[0], command);
		fprintf(stderr, "vtime-load: %s: %s\n", command[0], strerror(errno));
		_exit(127);
	}
	return pid;
}

/* Waits for the end; returns the status of the command. */
static int wait_for_end(struct recording *recording, struct bpf_object *object, pid_t command, sigset_t *signals, long drain_ms)
{
	struct exit_info info;
	struct timespec period = { drain_ms ? drain_ms / 1000 : 1, drain_ms % 1000 * 1000000 };
	int status = 0;

	while (true) {
		int signal = sigtimedwait(signals, NULL, &period);

		if (signal == SIGTERM || signal == SIGINT) {
			if (command)
				kill(command, SIGTERM);
			return 0;
		}
		if (signal == SIGCHLD && command && waitpid(command, &status, WNOHANG) == command)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (has_ended(object, &info)) {
			if (command)
				kill(command, SIGTERM);
			return 0;
		}
		if (drain_ms)
			recording_drain(recording);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "record", required_argument, NULL, 'r' },	     { "ring-mb", required_argument, NULL, 'm' },
		{ "drain-ms", required_argument, NULL, 'd' },	     { "cgroups", required_argument, NULL, 'c' },
		{ "create-cgroups", no_argument, NULL, 'C' },	     { "pin", required_argument, NULL, 'p' },
		{},
	};
	const char *record = NULL, *cgroups = "/sys/fs/cgroup", *pin = NULL;
	long ring_mb = 0, drain_ms = 0;
	bool create = false;
	int option, status;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'r': record = optarg; break;
		case 'm': ring_mb = atol(optarg); break;
		case 'd': drain_ms = atol(optarg); break;
		case 'c': cgroups = optarg; break;
		case 'C': create = true; break;
		case 'p': pin = optarg; break;
		default: usage();
		}
	}
	if (argc - optind < 2)
		usage();

	const char *object_path = argv[optind];
	struct input *input = input_read(argv[optind + 1], cgroups, create);
	char **command = argc - optind > 2 ? argv + optind + 2 : NULL;
	struct bpf_object *object = bpf_object__open_file(object_path, NULL);
	struct bpf_map *ring;

	if (!object)
		fatal("%s: %s", object_path, strerror(errno));
	constants_fill(object);
	struct bpf_map *ops = input_configure(input, object);

	ring = bpf_object__find_map_by_name(object, "records");
	if (record && !ring)
		fatal("%s does not record; take the object that was built with RECORD=1", object_path);
	/* Without a reader the buffer need not be large. */
	if (ring && (ring_mb || !record) && bpf_map__set_max_entries(ring, record ? ring_mb << 20 : 4096))
		fatal("--ring-mb %ld: expected a power of 2", ring_mb);
	/* Loading takes a while; a signal meanwhile ends it afterwards, in order. */
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	if (bpf_object__load(object)) {
		fprintf(stderr, "vtime-load: the kernel refused %s\n", object_path);
		return 1;
	}
	input_fill_maps(input, object);
	if (pin && bpf_object__pin_maps(object, pin))
		fatal("cannot pin the maps in %s: %s", pin, strerror(errno));
	struct recording *recording = record ? recording_open(object, record) : NULL;

	struct bpf_link *link = bpf_map__attach_struct_ops(ops);

	if (!link) {
		fprintf(stderr, "vtime-load: cannot attach %s: %s\n", bpf_map__name(ops), strerror(errno));
		return 1;
	}
	printf("attached %s\n", bpf_map__name(ops));
	fflush(stdout);
	status = wait_for_end(recording, object, command ? start(command) : 0, &signals, drain_ms);

	/* ops.exit() fills exit_info also for an orderly end. */
	struct exit_info info;
	bool ejected = has_ended(object, &info);

	bpf_link__destroy(link);
	if (pin)
		bpf_object__unpin_maps(object, pin);
	if (recording_close(recording, object))
		status = status ? status : 1;
	if (ejected) {
		fprintf(stderr, "vtime-load: the kernel ejected the scheduler: %s%s%s\n", info.reason, *info.message ? ": " : "",
			info.message);
		status = 1;
	}
	bpf_object__close(object);
	return status;
}
