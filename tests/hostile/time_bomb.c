/* Waits for the moment after the last look and acts then. Waiters of several kinds change the file of the first argument:
   one counts at once, one by a timer's signal, one when a file lock is freed by the death of another process, one when its parent
   is gone, one by a thread of a process whose first thread ended, one that wakes when a pipe breaks, one through memory that is mapped.
   Must happen: after a freeze the file does not change; after a kill it never changes again. */
#include "attempt.h"
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>

static int file;

static void tick(int number) {
    (void)number;
    (void)!write(file, "x", 1);
}

static void forever(void) {
    for (int turn = 0; turn < 12000; turn++) {
        tick(0);
        usleep(10000);
    }
    _exit(0);
}

static void *thread(void *nothing) {
    forever();
    return nothing;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    file = open(words[1], O_RDWR | O_CREAT | O_APPEND, 0644);
    signal(SIGPIPE, tick);
    (void)!write(file, "start", 5);
    if (fork() == 0) forever();
    if (fork() == 0) {
        struct itimerval often = {{0, 20000}, {0, 20000}};
        signal(SIGALRM, tick);
        setitimer(ITIMER_REAL, &often, NULL);
        for (;;) pause();
    }
    int held = open("/tmp/time-bomb-lock", O_RDWR | O_CREAT, 0644);
    int ends[2];
    if (held < 0 || pipe(ends)) return 2;
    if (fork() == 0) {
        int lock = open("/tmp/time-bomb-lock", O_RDWR);
        flock(lock, LOCK_EX);
        printf("armed\n");
        fflush(stdout);
        if (fork() == 0) {
            setsid();
            int other = open("/tmp/time-bomb-lock", O_RDWR);
            close(lock);
            flock(other, LOCK_EX);
            forever();
        }
        close(ends[1]);
        for (;;) pause();
    }
    if (fork() == 0) {
        close(ends[1]);
        char byte;
        (void)!read(ends[0], &byte, 1);
        forever();
    }
    pid_t guarded = fork();
    if (guarded == 0) {
        if (fork() == 0) {
            setsid();
            signal(SIGUSR1, tick);
            prctl(PR_SET_PDEATHSIG, SIGUSR1);
            for (;;) pause();
        }
        for (;;) pause();
    }
    if (fork() == 0) {
        pthread_t other;
        pthread_create(&other, NULL, thread, NULL);
        pthread_exit(NULL);
    }
    char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (fork() == 0) {
        for (;;) {
            mapped[0]++;
            usleep(5000);
        }
    }
    setsid();
    for (;;) pause();
}
