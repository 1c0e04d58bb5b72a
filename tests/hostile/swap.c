/* Swaps what stands at `subject` in the folder of its first argument, without pause for at most two minutes: a file that holds
   `good`, a link to /etc/passwd, a pipe, a folder, a large file, and in `way` a folder and a link to /etc, so that what was checked
   is not what is used.
   Must happen: whoever reads `subject` gets `good`, a part of it never, the large file within the bound, or a refusal; it never
   waits, and never gets or changes what the links lead to. */
#include "attempt.h"
#include <time.h>

static void make(const char *name, const char *text, long size) {
    int file = open(name, O_WRONLY | O_CREAT, 0644);
    (void)!write(file, text, strlen(text));
    if (size) (void)!ftruncate(file, size);
    close(file);
}

int main(int count, char **words) {
    if (count != 2 || (mkdir(words[1], 0755) && errno != EEXIST) || chdir(words[1])) return 2;
    make("subject", "good", 0);
    make("large", "", 3 << 20);
    mkdir("folder", 0755);
    make("folder/passwd", "good", 0);
    mkdir("way", 0755);
    make("way/passwd", "good", 0);
    mkfifo("pipe", 0644);
    (void)!symlink("/etc/passwd", "link");
    (void)!symlink("/etc", "lead");
    if (fork()) return 0;
    setsid();
    static const char *const others[] = {"link", "pipe", "large", "folder"};
    time_t end = time(NULL) + 120;
    for (unsigned turn = 0; time(NULL) < end; turn++) {
        const char *other = others[turn % 4];
        renameat2(AT_FDCWD, "subject", AT_FDCWD, other, RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "way", AT_FDCWD, "lead", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "subject", AT_FDCWD, other, RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "way", AT_FDCWD, "lead", RENAME_EXCHANGE);
    }
    return 0;
}
