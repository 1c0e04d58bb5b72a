/* Types into its own controlling terminal as if somebody sat there, pastes by the console's selection, and takes the terminal of
   others.
   Must happen: each is refused, so that nothing runs with the rights of whoever reads the terminal next. */
#include "attempt.h"
#include <sys/ioctl.h>

static long steal(void) {
    long taken = -1;
    for (int index = 0; index < 16; index++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/pts/%d", index);
        int file = open(path, O_RDWR | O_NOCTTY);
        if (file >= 0 && ioctl(file, TIOCSCTTY, 1) == 0) taken = 0;
    }
    errno = EPERM;
    return taken;
}

int main(void) {
    TRY("sti", ioctl(0, TIOCSTI, "x"));
    TRY("sti_high_bits", syscall(SYS_ioctl, 0, TIOCSTI | 1UL << 40, "x"));
    TRY("linux_selection", ioctl(0, TIOCLINUX, "\3"));
    TRY("console", ioctl(0, TIOCCONS, NULL));
    TRY("steal", steal());
    return verdict();
}
