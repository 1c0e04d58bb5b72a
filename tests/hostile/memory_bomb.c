/* Takes memory up to 3 GB, in the way that its argument names: `heap` (touched pages), `children` (of many processes),
   `shared` (files of /dev/shm), `memfd` (files without a name), `pipes` (full pipes), `sockets` (full TCP connections over
   loopback), `segments` (shared memory that outlives its maker), `messages` (full queues), `mapped` (locked pages).
   It prints `holds N` (bytes) as it goes.
   Must happen: it is killed, or refused, or holds no more than the sandbox's limit; neighbours and the server do not notice. */
#include "attempt.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>

enum { step = 16 << 20, steps = 3 * 64 };

static char block[1 << 20];
static long long held;

static void holds(long long more) {
    held += more;
    printf("holds %lld\n", held);
    fflush(stdout);
}

static int heap(void) {
    for (int count = 0; count < steps; count++) {
        char *taken = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (taken == MAP_FAILED) return errno;
        memset(taken, count + 1, step);
        holds(step);
    }
    return 0;
}

static int locked(void) {
    for (int count = 0; count < steps; count++) {
        if (mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0) == MAP_FAILED) return errno;
        holds(step);
    }
    return 0;
}

static int children(void) {
    int killed = 0, refused = 0;
    for (int count = 0; count < 12; count++) {
        pid_t child = fork();
        if (child == 0) {
            for (int part = 0; part < 16; part++) {
                char *taken = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (taken == MAP_FAILED) _exit(1);
                memset(taken, part + 1, step);
            }
            pause();
        }
        if (child < 0) refused = errno;
    }
    sleep(3);
    int status;
    while (waitpid(-1, &status, WNOHANG) > 0) killed++;
    kill(0, SIGKILL);
    return killed ? ENOMEM : refused;
}

static int fill(int file) {
    for (int count = 0; count < steps * 16; count++) {
        if (write(file, block, sizeof block) != (ssize_t)sizeof block) return errno ? errno : ENOSPC;
        if (count % 16 == 15) holds(step);
    }
    return 0;
}

static int shared(void) {
    char name[64];
    int error = 0;
    for (int part = 0; part < 16 && !error; part++) {
        snprintf(name, sizeof name, "/dev/shm/bomb-%d", part);
        int file = open(name, O_WRONLY | O_CREAT, 0600);
        if (file < 0) return errno;
        error = fill(file);
        if (error == EFBIG) error = 0;
    }
    return error;
}

static int nameless(void) {
    int error = 0;
    for (int part = 0; part < 16 && !error; part++) {
        int file = syscall(SYS_memfd_create, "bomb", 0);
        if (file < 0) return errno;
        error = fill(file);
        if (error == EFBIG) error = 0;
    }
    return error;
}

static int pipes(void) {
    for (int count = 0; count < 3000; count++) {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK)) return errno;
        fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
        ssize_t size;
        while ((size = write(ends[1], block, sizeof block)) > 0) held += size;
        holds(0);
    }
    return 0;
}

static int sockets(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof place;
    if (listener < 0 || bind(listener, (struct sockaddr *)&place, size) || listen(listener, 64)) return errno;
    getsockname(listener, (struct sockaddr *)&place, &size);
    for (int count = 0; count < 1000; count++) {
        int near = socket(AF_INET, SOCK_STREAM, 0), wide = 64 << 20;
        if (near < 0) return errno;
        setsockopt(near, SOL_SOCKET, SO_SNDBUF, &wide, sizeof wide);
        if (connect(near, (struct sockaddr *)&place, size)) return errno;
        int far = accept(listener, NULL, NULL);
        if (far < 0) return errno;
        setsockopt(far, SOL_SOCKET, SO_RCVBUF, &wide, sizeof wide);
        fcntl(near, F_SETFL, O_NONBLOCK);
        ssize_t sent;
        while ((sent = write(near, block, sizeof block)) > 0) held += sent;
        holds(0);
    }
    return 0;
}

/* Shared memory of the old kind stays when its makers are gone. */
static int segments(void) {
    for (int count = 0; count < steps; count++) {
        int segment = shmget(IPC_PRIVATE, step, IPC_CREAT | 0600);
        char *taken = segment < 0 ? (char *)-1 : shmat(segment, NULL, 0);
        if (taken == (char *)-1) return errno;
        memset(taken, count + 1, step);
        shmdt(taken);
        holds(step);
    }
    return 0;
}

static int messages(void) {
    static struct { long kind; char text[8192]; } message = {1, {0}};
    for (int count = 0; count < 32000; count++) {
        int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
        if (queue < 0) return errno;
        while (!msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT)) held += sizeof message.text;
        if (count % 256 == 0) holds(0);
    }
    return 0;
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "heap";
    memset(block, 'm', sizeof block);
    signal(SIGXFSZ, SIG_IGN);
    if (!strcmp(way, "children")) {
        setpgid(0, 0);
        pid_t group = fork();
        if (group == 0) {
            setpgid(0, 0);
            _exit(children());
        }
        int status;
        waitpid(group, &status, 0);
        said(way, WIFEXITED(status) ? WEXITSTATUS(status) : ENOMEM);
        return verdict();
    }
    int error = !strcmp(way, "heap") ? heap() : !strcmp(way, "shared") ? shared() : !strcmp(way, "memfd") ? nameless()
              : !strcmp(way, "pipes") ? pipes() : !strcmp(way, "sockets") ? sockets() : !strcmp(way, "segments") ? segments()
              : !strcmp(way, "messages") ? messages() : locked();
    said(way, error);
    return verdict();
}
