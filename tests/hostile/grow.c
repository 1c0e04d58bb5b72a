/* Lets a file grow and shrink between nothing and 8 MB without pause, for at most two minutes (first argument), so that its size
   when it is looked at is not its size when it is read.
   Must happen: a read gives at most what was asked for, or a refusal; an archive stays one that can be read. */
#include "attempt.h"
#include <time.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    int file = open(words[1], O_WRONLY | O_CREAT, 0644);
    if (file < 0) return 2;
    if (fork()) return 0;
    setsid();
    time_t end = time(NULL) + 120;
    while (time(NULL) < end) {
        (void)!ftruncate(file, 8 << 20);
        (void)!ftruncate(file, 512);
    }
    return 0;
}
