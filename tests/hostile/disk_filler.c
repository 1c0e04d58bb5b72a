/* Fills the file system at the folder of its second argument up to 3 GB: with `data`, or with `inodes` (empty files, up to
   300,000), `folders`, `names` (hard links) or `xattrs` (extended attributes).
   Must happen: ENOSPC, EDQUOT or EMLINK at the disk's bound; the host's disk does not fill; removing the files frees them. */
#include "attempt.h"
#include <sys/xattr.h>

static char block[1 << 20];

static int data(void) {
    for (int part = 0; part < 64; part++) {
        char name[32];
        snprintf(name, sizeof name, "data-%d", part);
        int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0) return errno;
        for (int count = 0; count < 48; count++) {
            if (write(file, block, sizeof block) == (ssize_t)sizeof block) continue;
            if (errno != EFBIG) return errno ? errno : ENOSPC;
            break;
        }
        if (fsync(file)) return errno;
        close(file);
    }
    return 0;
}

static int entries(const char *what) {
    int first = open("first", O_WRONLY | O_CREAT, 0600);
    if (first < 0) return errno;
    for (int count = 0; count < 300000; count++) {
        char name[32];
        snprintf(name, sizeof name, "entry-%d", count);
        int made = !strcmp(what, "folders") ? mkdir(name, 0700) : !strcmp(what, "names") ? link("first", name)
                 : open(name, O_WRONLY | O_CREAT, 0600);
        if (made < 0) return errno;
        if (!strcmp(what, "inodes")) close(made);
    }
    return 0;
}

static int xattrs(void) {
    for (int count = 0; count < 300000; count++) {
        char name[32];
        snprintf(name, sizeof name, "entry-%d", count);
        int file = open(name, O_WRONLY | O_CREAT, 0600);
        if (file < 0) return errno;
        if (fsetxattr(file, "user.filler", block, 3000, 0) && errno != EOPNOTSUPP) return errno;
        close(file);
    }
    return 0;
}

int main(int count, char **words) {
    if (count != 3 || (mkdir(words[2], 0700) && errno != EEXIST) || chdir(words[2])) return 2;
    signal(SIGXFSZ, SIG_IGN);
    memset(block, 'd', sizeof block);
    said(words[1], !strcmp(words[1], "data") ? data() : !strcmp(words[1], "xattrs") ? xattrs() : entries(words[1]));
    return verdict();
}
