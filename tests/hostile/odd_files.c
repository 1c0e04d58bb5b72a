/* Puts things other than files where files are expected, in the folder of its first argument: `pipe`, `socket`, `link` (to
   /etc/passwd), `loop` (a link to itself), `folder`, `null` (a link to /dev/zero), `sparse` (10 GB of nothing, or as much as one
   may have), `deep` (300 folders in each other), `wide` (a name of 255 bytes), `hard` (a second name of `inner`, which is a link
   away), `unreadable`, `proc` (a link to /proc/self/mem).
   Must happen: each is refused by its kind or by its size, at once; an archive of the folder holds none that could harm. */
#include "attempt.h"
#include <sys/socket.h>
#include <sys/un.h>

int main(int count, char **words) {
    if (count != 2 || (mkdir(words[1], 0755) && errno != EEXIST) || chdir(words[1])) return 2;
    signal(SIGXFSZ, SIG_IGN);
    struct sockaddr_un place = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int broken = mkfifo("pipe", 0666) || bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&place, sizeof place)
        || symlink("/etc/passwd", "link") || symlink("loop", "loop") || mkdir("folder", 0755) || symlink("/dev/zero", "null")
        || symlink("/proc/self/mem", "proc") || symlink("/etc", "way");
    int sparse = open("sparse", O_WRONLY | O_CREAT, 0644);
    off_t size = 10LL << 30;
    while (ftruncate(sparse, size) && size > 1 << 20) size /= 2;
    printf("sparse %lld\n", (long long)size);
    int hidden = open("unreadable", O_WRONLY | O_CREAT, 0000);
    (void)!write(hidden, "hidden", 6);
    char wide[256];
    memset(wide, 'w', 255);
    wide[255] = 0;
    broken |= open(wide, O_WRONLY | O_CREAT, 0644) < 0;
    int inner = open("inner", O_WRONLY | O_CREAT, 0644);
    broken |= inner < 0 || link("inner", "hard");
    mkdir("deep", 0755);
    broken |= chdir("deep");
    for (int depth = 0; depth < 300 && !broken; depth++) broken = mkdir("d", 0755) || chdir("d");
    return broken ? 2 : 0;
}
