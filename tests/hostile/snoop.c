/* Looks for words that belong to others (its arguments) wherever a process can look: environments and command lines of all
   processes, all files that can be read (the first 64 KB of each), mounts, shared memory, message queues, abstract sockets.
   Must happen: no word is found. It prints `found WORD in PLACE` for each and ends with 1 where one was. */
#include "attempt.h"
#include <dirent.h>
#include <ftw.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>

static char **words;
static int word_count, found;
static char bytes[65536];

static void look(const char *path) {
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return;
    ssize_t size = read(file, bytes, sizeof bytes);
    close(file);
    for (int index = 0; index < word_count && size > 0; index++) {
        if (!memmem(bytes, size, words[index], strlen(words[index]))) continue;
        printf("found %s in %s\n", words[index], path);
        found++;
    }
}

static int visit(const char *path, const struct stat *entry, int kind, struct FTW *place) {
    (void)place;
    if (kind == FTW_D && (!strcmp(path, "/proc") || !strcmp(path, "/sys") || !strncmp(path, "/usr/", 5))) return FTW_SKIP_SUBTREE;
    if (kind == FTW_F && S_ISREG(entry->st_mode)) look(path);
    for (int index = 0; index < word_count; index++) {
        if (strstr(path, words[index])) {
            printf("found %s in the path %s\n", words[index], path);
            found++;
        }
    }
    return FTW_CONTINUE;
}

int main(int count, char **arguments) {
    word_count = count - 1;
    words = arguments + 1;
    char path[300];
    DIR *processes = opendir("/proc");
    for (struct dirent *one; processes && (one = readdir(processes));) {
        long process = atol(one->d_name);
        if (process <= 0 || process == getpid()) continue;
        static const char *const files[] = {"environ", "cmdline", "maps", "mountinfo", "cgroup", "comm", "status"};
        for (size_t index = 0; index < sizeof files / sizeof *files; index++) {
            snprintf(path, sizeof path, "/proc/%ld/%s", process, files[index]);
            look(path);
        }
        snprintf(path, sizeof path, "/proc/%ld/root/etc/hostname", process);
        look(path);
    }
    static const char *const shared[] = {"/proc/self/mountinfo", "/proc/self/environ", "/proc/self/cgroup", "/proc/net/unix", "/proc/net/tcp", "/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/locks", "/proc/swaps", "/proc/partitions", "/proc/cmdline", "/proc/version", "/proc/keys", "/proc/mdstat", "/proc/modules"};
    for (size_t index = 0; index < sizeof shared / sizeof *shared; index++) look(shared[index]);
    nftw("/", visit, 32, FTW_PHYS | FTW_ACTIONRETVAL);
    struct shminfo segments;
    int last = shmctl(0, 3, (struct shmid_ds *)&segments);
    struct shmid_ds segment;
    for (int index = 0; index <= last; index++) {
        int id = shmctl(index, 13, &segment);
        const char *at = id < 0 ? (char *)-1 : shmat(id, NULL, SHM_RDONLY);
        if (at == (char *)-1) continue;
        printf("found a shared memory of %zu bytes\n", segment.shm_segsz);
        found++;
    }
    printf("looked\n");
    return found ? 1 : 0;
}
