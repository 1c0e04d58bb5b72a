/* Cannot be caught by walking a list of processes: each lives for a moment, counts one tick into the file of its first argument
   and hands on to a child. Eight such chains, of at most 200,000 links each.
   Must happen: frozen, the file stands still; killed, all chains end; neither takes longer than with processes that stay. */
#include "attempt.h"

int main(int count, char **words) {
    if (count != 2) return 2;
    int file = open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (int chain = 0; chain < 8; chain++) {
        if (fork()) continue;
        setsid();
        for (int link = 0; link < 200000; link++) {
            pid_t next = fork();
            if (next > 0) {
                (void)!write(file, ".", 1);
                _exit(0);
            }
            if (next < 0) usleep(1000);
        }
        _exit(0);
    }
    return 0;
}
