/* Spends its life inside calls that take long: three processes write 24 MB at a time, each time another byte, over the same part of
   the file of the first argument, flush it, and grow the file by one byte at its end; a fourth waits for a child that it made by vfork.
   Must happen: when a freeze returned, no call is under way that still changes the file. */
#include "attempt.h"

int main(int count, char **words) {
    if (count != 2) return 2;
    enum { size = 24 << 20 };
    for (int number = 0; number < 3; number++) {
        if (fork()) continue;
        setsid();
        char *block = malloc(size);
        int file = open(words[1], O_WRONLY | O_CREAT, 0644), end = open(words[1], O_WRONLY | O_APPEND);
        for (int turn = 0; turn < 4000; turn++) {
            memset(block, turn + number, size);
            (void)!pwrite(file, block, size, 0);
            (void)!write(end, ".", 1);
            if (turn % 4 == number) fsync(file);
        }
        _exit(0);
    }
    if (fork() == 0) {
        setsid();
        if (vfork() == 0) {
            for (int turn = 0; turn < 6000; turn++) usleep(10000);
            _exit(0);
        }
        _exit(0);
    }
    return 0;
}
