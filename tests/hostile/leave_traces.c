/* Leaves a word (first argument) wherever another sandbox might find it, says `left` and stays for at most two minutes: files in
   /tmp and /dev/shm, an abstract socket, a listening port (second argument), shared memory, a message queue and its command line; the caller adds its environment.
   Must happen: only this sandbox finds them. */
#include "attempt.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

static void leave(const char *folder, const char *word) {
    char path[256];
    snprintf(path, sizeof path, "%s/trace-%s", folder, word);
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    if (file >= 0) (void)!write(file, word, strlen(word));
    chmod(path, 0666);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    leave("/tmp", words[1]);
    leave("/dev/shm", words[1]);
    leave("/var/tmp", words[1]);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strncpy(name.sun_path + 1, words[1], sizeof name.sun_path - 2);
    int abstract = socket(AF_UNIX, SOCK_STREAM, 0), port = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(atoi(words[2])), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(abstract, (struct sockaddr *)&name, sizeof(sa_family_t) + 1 + strlen(words[1])) || listen(abstract, 8)) return 3;
    if (bind(port, (struct sockaddr *)&place, sizeof place) || listen(port, 8)) return 4;
    int segment = shmget(0x7ace, 4096, IPC_CREAT | 0666);
    char *shared = segment < 0 ? (char *)-1 : shmat(segment, NULL, 0);
    if (shared != (char *)-1) strcpy(shared, words[1]);
    msgget(0x7ace, IPC_CREAT | 0666);
    printf("left\n");
    fflush(stdout);
    if (fork()) return 0;
    setsid();
    for (int file = 0; file < 3; file++) close(file);
    sleep(120);
    return 0;
}
