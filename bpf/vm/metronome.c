// SPDX-License-Identifier: Apache-2.0
// `metronome RATE`: the clock chip's periodic interrupt goes on at 32768 >> (RATE - 1) Hz, and nobody listens.
//
// In exact mode the emulator gives each CPU in turn 1/N of the time to the next timer of any device, while the clock of all
// goes on. The timers of the CPUs themselves are all due at the tick and not set again before their CPU's turn, so the next
// one is often milliseconds away. The chip's timer runs in the emulator only: its interrupt is masked, since the kernel
// is told not to drive it (src/bpf/vm/boot.ts).
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>

enum { INDEX = 0x70, DATA = 0x71, REGISTER_A = 10, REGISTER_B = 11, RATE_MASK = 15, PERIODIC_INTERRUPT = 0x40 };

static unsigned char get(unsigned char reg)
{
	outb(reg, INDEX);
	return inb(DATA);
}

static void set(unsigned char reg, unsigned char value)
{
	outb(reg, INDEX);
	outb(value, DATA);
}

int main(int count, char **arguments)
{
	int rate = count == 2 ? atoi(arguments[1]) : 0;

	if (rate < 3 || rate > RATE_MASK || ioperm(INDEX, 2, 1) != 0) {
		perror("metronome");
		return 1;
	}
	set(REGISTER_A, (get(REGISTER_A) & ~RATE_MASK) | rate);
	set(REGISTER_B, get(REGISTER_B) | PERIODIC_INTERRUPT);
	return 0;
}
