/* Leaves its parent, session, group and terminal by two forks, closes everything, renames itself, asks for no signal at its
   parent's death, and counts in a file (first argument) 50 times a second, at most two minutes.
   Must happen: it runs on for as long as the sandbox lets it; a kill of the sandbox's processes, or its end, ends it. */
#include "attempt.h"
#include <sys/prctl.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    for (int generation = 0; generation < 2; generation++) {
        pid_t child = fork();
        if (child < 0) return 2;
        if (child > 0) return 0;
        setsid();
        signal(SIGHUP, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
    }
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_NAME, "kworker/0:1");
    for (int file = 0; file < 256; file++) close(file);
    int file = open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (int tick = 0; tick < 6000; tick++) {
        if (write(file, ".", 1) != 1) return 1;
        usleep(20000);
    }
    return 0;
}
