/* Takes what the kernel counts for each user, who is the same outside in every sandbox: watchers of files, timers (signals
   in queues), message queues, locked memory. It says `took KIND N`, then `holds`, and keeps it for at most a minute.
   Must happen: each ends within a bound of the sandbox's own; the server and other sandboxes still get theirs. */
#include "attempt.h"
#include <mqueue.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <signal.h>
#include <time.h>

/* Sends a descriptor over a socket that nobody reads. */
static int send_away(int socket, int descriptor) {
    char byte = 'd', control[CMSG_SPACE(sizeof descriptor)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof descriptor)};
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, MSG_DONTWAIT) == 1;
}

int main(void) {
    int descriptors = 0, pair[2];
    while (descriptors < 20000 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) {
        int before = descriptors;
        while (descriptors < 20000 && send_away(pair[0], 0)) descriptors++;
        if (descriptors == before) break;
    }
    printf("took descriptors %d\n", descriptors);
    int watchers = 0, timers = 0, queues = 0;
    while (watchers < 200 && inotify_init1(0) >= 0) watchers++;
    printf("took watchers %d\n", watchers);
    timer_t timer;
    /* A signal of another process that is under way counts as one more, until it has arrived. */
    for (int refused = 0; timers < 100000 && refused < 50;) {
        if (!timer_create(CLOCK_MONOTONIC, NULL, &timer)) timers++;
        else refused++, usleep(2000);
    }
    printf("took timers %d\n", timers);
    struct mq_attr shape = {.mq_maxmsg = 10, .mq_msgsize = 8192};
    for (; queues < 1000; queues++) {
        char name[32];
        snprintf(name, sizeof name, "/queue-%d", queues);
        if (mq_open(name, O_CREAT | O_RDWR, 0600, &shape) < 0) break;
    }
    printf("took queues %d\n", queues);
    long locked = 0;
    while (locked < 1L << 30 && mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) != MAP_FAILED) locked += 1 << 16;
    printf("took locked %ld\n", locked);
    printf("holds\n");
    fflush(stdout);
    sleep(60);
    return 0;
}
