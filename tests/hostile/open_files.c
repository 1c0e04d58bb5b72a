/* Opens 10,000 files, raises its own limit and tries again.
   Must happen: EMFILE at the limit, and the limit cannot be raised. */
#include "attempt.h"
#include <sys/resource.h>

int main(void) {
    int error = 0;
    for (int count = 0; count < 10000 && !error; count++) {
        if (open("/dev/null", O_RDONLY) < 0) error = errno;
    }
    for (int file = 3; file < 10000; file++) close(file);
    said("open", error);
    struct rlimit wide = {.rlim_cur = 1 << 19, .rlim_max = 1 << 19};
    said("setrlimit", setrlimit(RLIMIT_NOFILE, &wide) ? errno : 0);
    struct rlimit endless = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    said("setrlimit_file_size", setrlimit(RLIMIT_FSIZE, &endless) ? errno : 0);
    return verdict();
}
