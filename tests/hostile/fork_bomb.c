/* Forks without end from every process it has, each of which then spins and tries again.
   Must happen: the limit of processes refuses with EAGAIN; neighbours keep answering; one kill ends all of them.
   Stops by itself at 4,000 processes, so that a sandbox without a limit fails the test and not the machine. */
#include "attempt.h"
#include <sys/mman.h>

int main(void) {
    enum { most = 4000 };
    int *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return 2;
    int told = 0;
    for (;;) {
        if (__atomic_load_n(made, __ATOMIC_RELAXED) >= most) {
            printf("escaped fork\n");
            return 1;
        }
        pid_t child = fork();
        if (child == 0) {
            told = 1;
        } else if (child > 0) {
            __atomic_add_fetch(made, 1, __ATOMIC_RELAXED);
        } else if (!told) {
            said("fork", errno);
            printf("tried %d\n", *made);
            fflush(stdout);
            told = 1;
        }
    }
}
