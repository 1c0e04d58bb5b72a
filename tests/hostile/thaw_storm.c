/* Wakes whoever was stopped: six processes send SIGCONT to all others without pause and count ticks into the file of the first
   argument, for at most two minutes.
   Must happen: a freeze holds, whatever they send; while it holds, the file stands still; a thaw lets them go on. */
#include "attempt.h"
#include <time.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    int file = open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    time_t end = time(NULL) + 120;
    for (int number = 0; number < 6; number++) {
        if (fork()) continue;
        setsid();
        for (unsigned turn = 0; time(NULL) < end; turn++) {
            kill(-1, SIGCONT);
            if (turn % 64 == 0) (void)!write(file, ".", 1);
        }
        _exit(0);
    }
    return 0;
}
