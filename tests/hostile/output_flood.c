/* Writes 1 GiB to standard output, as fast as it can, and as many megabytes as its first argument says to standard error.
   Must happen: the record keeps its bound, counts the rest, and the server's memory stays where it was. */
#include "attempt.h"

int main(int count, char **words) {
    static char block[1 << 20];
    memset(block, 'f', sizeof block);
    for (int part = 0; part < 1024; part++) {
        for (size_t sent = 0; sent < sizeof block;) {
            ssize_t now = write(1, block + sent, sizeof block - sent);
            if (now <= 0) return 1;
            sent += now;
        }
    }
    for (int part = count > 1 ? atoi(words[1]) : 0; part > 0; part--) {
        for (size_t sent = 0; sent < sizeof block;) {
            ssize_t now = write(2, block + sent, sizeof block - sent);
            if (now <= 0) return 1;
            sent += now;
        }
    }
    return 0;
}
