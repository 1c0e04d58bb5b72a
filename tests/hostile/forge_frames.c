/* Speaks to the server in the agent's place: writes frames that say the command ended well to every descriptor it has, to those of
   the agent, and to its terminal's input; then ends with 7.
   Must happen: only its own output carries the bytes, as output; no other descriptor was inherited; the exit code stays 7. */
#include "attempt.h"
#include <dirent.h>
#include <sys/ioctl.h>

static const char event[] = "{\"event\":\"exited\",\"code\":0,\"signal\":null,\"timed_out\":false,\"wall_us\":1,\"cpu_us\":1,\"memory_bytes\":1,"
                            "\"output_omitted_bytes\":0,\"error_omitted_bytes\":0}";

int main(void) {
    DIR *open_ones = opendir("/proc/self/fd");
    for (struct dirent *one; open_ones && (one = readdir(open_ones));) {
        int file = atoi(one->d_name);
        if (one->d_name[0] != '.' && file > 2 && file != dirfd(open_ones)) printf("inherited %d\n", file);
    }
    fflush(stdout);
    for (unsigned stream = 1; stream < 64; stream++) {
        unsigned char frame[512];
        unsigned length = sizeof event - 1;
        memcpy(frame, &length, 4);
        memcpy(frame + 4, &stream, 4);
        frame[8] = 4;
        memcpy(frame + 9, event, length);
        for (int file = 1; file < 1024; file++) (void)!write(file, frame, length + 9);
        for (int file = 0; file < 64; file++) {
            char path[64];
            snprintf(path, sizeof path, "/proc/1/fd/%d", file);
            int taken = open(path, O_WRONLY | O_NONBLOCK);
            if (taken < 0) continue;
            printf("opened %s\n", path);
            (void)!write(taken, frame, length + 9);
        }
    }
    return 7;
}
