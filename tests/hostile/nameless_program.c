/* Runs programs that no file system holds, takes code from memory that it wrote, and looks whether that gives more rights than it has.
   Must happen: the program runs as who it was before (nothing here is forbidden to begin with), under the same filter. */
#include "attempt.h"
#include <sys/mman.h>
#include <sys/prctl.h>

extern char **environ;

int main(int count, char **words) {
    if (count > 1) {
        TRY("filter", prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 ? -1 : 0);
        TRY("unshare", syscall(SYS_unshare, 0x10000000));
        TRY("keyctl", syscall(SYS_keyctl, 0, -3, 1));
        return verdict();
    }
    int self = open("/proc/self/exe", O_RDONLY), copy = syscall(SYS_memfd_create, "nameless", 0);
    static char bytes[1 << 20];
    for (ssize_t size; (size = read(self, bytes, sizeof bytes)) > 0;) {
        if (write(copy, bytes, size) != size) return 2;
    }
    char *arguments[] = {"nameless", "--inner", NULL};
    (void)words;
    syscall(SYS_execveat, copy, "", arguments, environ, AT_EMPTY_PATH);
    perror("execveat");
    return 2;
}
