/* Becomes more than it is: by a set-uid copy of itself that uid 0 owns (first argument), by set-uid programs of the image, by
   capabilities, groups, ids and the switches that forbid all this.
   Must happen: the ids stay, the capabilities stay empty, the switches cannot be undone. */
#include "attempt.h"
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* 0 where a run of the program at `path` got another effective id than ours. */
static long as_owner(const char *path) {
    int ends[2], status;
    if (pipe(ends)) return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        execl(path, path, "--who", (char *)NULL);
        _exit(127);
    }
    char seen[32] = {0};
    close(ends[1]);
    (void)!read(ends[0], seen, sizeof seen - 1);
    waitpid(child, &status, 0);
    errno = EPERM;
    if (!*seen) return 0;
    return (uid_t)atoi(seen) != geteuid() ? 0 : -1;
}

static long capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    syscall(SYS_capget, &header, data);
    errno = EPERM;
    return data[0].permitted | data[1].permitted | data[0].effective | data[1].effective | data[0].inheritable ? 0 : -1;
}

static long take_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{~0U, ~0U, ~0U}, {0x1ff, 0x1ff, 0x1ff}};
    return syscall(SYS_capset, &header, data);
}

static long bounded(void) {
    errno = EPERM;
    for (int capability = 0; capability < 41; capability++) {
        if (prctl(PR_CAPBSET_READ, capability) == 1) return 0;
    }
    return -1;
}

static long nobody_may_gain(void) {
    long kept = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    errno = EPERM;
    return kept == 1 ? -1 : 0;
}

int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], "--who")) {
        printf("%d\n", (int)geteuid());
        return 0;
    }
    gid_t groups[1] = {0};
    if (count > 1) TRY("set_uid_copy", as_owner(words[1]));
    TRY("capabilities", capabilities());
    TRY("capset", take_capabilities());
    TRY("bounding_set", bounded());
    TRY("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
    TRY("no_new_privileges", nobody_may_gain());
    TRY("undo_no_new_privileges", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    TRY("undo_filter", prctl(PR_SET_SECCOMP, 0, NULL));
    TRY("setuid_agent", setresuid(65533, 65533, 65533));
    TRY("setuid_0", geteuid() ? setresuid(0, 0, 0) : -1);
    TRY("setgid_0", getegid() ? setresgid(0, 0, 0) : -1);
    TRY("setgroups", setgroups(1, groups));
    TRY("chown_to_0", geteuid() ? chown("/proc/self/exe", 0, 0) : -1);
    TRY("securebits", prctl(PR_SET_SECUREBITS, 0));
    TRY("nice", setpriority(0, 0, -10) ? -1 : 0);
    return verdict();
}
