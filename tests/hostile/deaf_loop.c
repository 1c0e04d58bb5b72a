/* Blocks and ignores every signal that can be, in four processes of groups of their own, and spins.
   Must happen: the time limit of the command ends it, and what it left is killed with the sandbox's processes. */
#include "attempt.h"

int main(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int signal_number = 1; signal_number < 65; signal_number++) signal(signal_number, SIG_IGN);
    printf("deaf\n");
    fflush(stdout);
    for (int count = 0; count < 2; count++) fork();
    setpgid(0, 0);
    for (volatile long spins = 0;; spins++) {}
}
