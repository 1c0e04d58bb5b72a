/* Kills everything it can reach: all processes, the agent (process 1) by every signal, and process groups 0 and 1.
   Must happen: at most the sandbox's own commands die; the agent, the neighbours and the host go on. */
#include "attempt.h"

int main(void) {
    kill(-1, SIGKILL);
    for (int signal_number = 1; signal_number < 65; signal_number++) {
        kill(1, signal_number);
        kill(-1, signal_number == SIGKILL || signal_number == SIGSTOP ? signal_number : 0);
    }
    for (pid_t other = 2; other < 70000; other++) {
        if (other != getpid()) kill(other, SIGKILL);
    }
    printf("survived\n");
    return 0;
}
