// SPDX-License-Identifier: Apache-2.0
// `metronome HZ`: keeps a periodic timer of the kernel running until it is killed, without ever waking up.
//
// In exact mode the emulator gives each CPU 1/N of the time to the next timer of any CPU, one CPU after the other, while
// the clock of all goes on. Without this the next timer is often the tick in 4 ms, and a CPU's clock jumps by up to 3 ms.
#include <fcntl.h>
#include <linux/rtc.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	int file = open("/dev/rtc0", O_RDONLY | O_CLOEXEC);
	unsigned long hz = count == 2 ? strtoul(arguments[1], NULL, 10) : 0;

	if (file < 0 || ioctl(file, RTC_IRQP_SET, hz) != 0 || ioctl(file, RTC_PIE_ON, 0) != 0)
		return 1;
	while (1)
		pause();
}
