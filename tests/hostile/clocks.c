/* Sets clocks, by every call that does.
   Must happen: EPERM or ENOSYS, and the host's time is what it was. */
#include "attempt.h"
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

int main(void) {
    struct timespec then = {.tv_sec = 1000000000};
    struct timeval old = {.tv_sec = 1000000000};
    struct timex step = {.modes = ADJ_SETOFFSET, .time = {.tv_sec = 3600}}, slew = {.modes = ADJ_OFFSET, .offset = 1000};
    TRY("clock_settime", clock_settime(CLOCK_REALTIME, &then));
    TRY("settimeofday", syscall(SYS_settimeofday, &old, NULL));
    TRY("adjtimex", syscall(SYS_adjtimex, &step));
    TRY("clock_adjtime", syscall(SYS_clock_adjtime, CLOCK_REALTIME, &slew));
    TRY("wake_alarm", syscall(SYS_timer_create, CLOCK_REALTIME_ALARM, NULL, &(int){0}));
    TRY("rtc", open("/dev/rtc0", O_RDWR));
    TRY("time_namespace", put("/proc/self/timens_offsets", "monotonic 1000 0\n"));
    return verdict();
}
