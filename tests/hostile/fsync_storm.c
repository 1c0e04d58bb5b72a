/* Writes and flushes small files without pause from four processes for ten seconds, in the folder of its first argument.
   Must happen: neighbours keep answering. */
#include "attempt.h"
#include <time.h>

int main(int count, char **words) {
    if (count != 2 || (mkdir(words[1], 0755) && errno != EEXIST) || chdir(words[1])) return 2;
    static char block[65536];
    time_t end = time(NULL) + 10;
    for (int number = 0; number < 4; number++) {
        if (fork()) continue;
        char name[16];
        snprintf(name, sizeof name, "file-%d", number);
        int file = open(name, O_WRONLY | O_CREAT | O_SYNC, 0600);
        while (time(NULL) < end) {
            (void)!pwrite(file, block, sizeof block, 0);
            fsync(file);
            sync();
        }
        _exit(0);
    }
    while (wait(NULL) > 0) {}
    return 0;
}
