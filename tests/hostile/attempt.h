/* What hostile programs say of their tries: a line each, `refused NAME ERRNO`, `killed NAME SIGNAL` or `escaped NAME`, at the
   end `tried N`, and an exit status of 1 if anything worked that must not. */
#ifndef ATTEMPT_H
#define ATTEMPT_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static int tried, escaped;

static inline void said(const char *name, int error) {
    tried++;
    if (error) {
        const char *word = strerrorname_np(error);
        printf("refused %s %s\n", name, word ? word : "unknown");
    } else {
        escaped++;
        printf("escaped %s\n", name);
    }
    fflush(stdout);
}

/* How the child that made a try ended: with an errno as its exit status, with 0 if it got its way, or by a signal. */
static inline void said_of(const char *name, pid_t child) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        printf("broken %s\n", name);
        exit(2);
    }
    if (WIFSIGNALED(status)) {
        tried++;
        printf("killed %s %d\n", name, WTERMSIG(status));
        fflush(stdout);
    } else {
        said(name, WEXITSTATUS(status));
    }
}

/* Tries `call`, which is -1 where it fails, in a child: what it changes or what kills it does not end the other tries. */
#define TRY(name, call)                                   \
    do {                                                  \
        pid_t try_child = fork();                         \
        if (try_child == 0) {                             \
            errno = 0;                                    \
            _exit((long)(call) == -1 ? (errno ? errno : EPERM) : 0); \
        }                                                 \
        said_of(name, try_child);                         \
    } while (0)

static inline int verdict(void) {
    printf("tried %d\n", tried);
    return escaped ? 1 : 0;
}

/* Opens for writing and writes; -1 where either fails. */
static inline long put(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return -1;
    return write(file, text, strlen(text));
}
#endif
