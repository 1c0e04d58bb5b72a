/* Makes and enters namespaces by every flag of unshare, clone and clone3, and by setns.
   Must happen: every call is refused; one that makes a user namespace would give back every capability inside it. */
#include "attempt.h"
#include <linux/sched.h>
#include <sched.h>

static long clone_with(unsigned long flags) {
    long child = syscall(SYS_clone, flags | SIGCHLD, 0, NULL, NULL, 0);
    if (child == 0) _exit(0);
    return child;
}

static long clone3_with(unsigned long flags) {
    struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};
    long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) _exit(0);
    return child;
}

static long enter(const char *path) {
    int file = open(path, O_RDONLY);
    return file < 0 ? -1 : setns(file, 0);
}

int main(void) {
    static const struct { const char *name; unsigned long flag; } kinds[] = {
        {"user", CLONE_NEWUSER}, {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID}, {"net", CLONE_NEWNET},
        {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS}, {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80},
        {"user_and_mount", CLONE_NEWUSER | CLONE_NEWNS},
    };
    char name[64];
    for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++) {
        snprintf(name, sizeof name, "unshare_%s", kinds[index].name);
        TRY(name, syscall(SYS_unshare, kinds[index].flag));
        if (kinds[index].flag != 0x80) {
            /* In clone this bit is part of the signal that is sent at the end. */
            snprintf(name, sizeof name, "clone_%s", kinds[index].name);
            TRY(name, clone_with(kinds[index].flag));
        }
        snprintf(name, sizeof name, "clone3_%s", kinds[index].name);
        TRY(name, clone3_with(kinds[index].flag));
    }
    /* Only the low half of a register is looked at by the kernel; a filter that compares all of it misses this. */
    TRY("clone_user_high_bits", clone_with(CLONE_NEWUSER | 1UL << 40));
    TRY("unshare_user_high_bits", syscall(SYS_unshare, CLONE_NEWUSER | 1UL << 40));
    TRY("setns_mount", enter("/proc/self/ns/mnt"));
    TRY("setns_user_of_agent", enter("/proc/1/ns/user"));
    int self = syscall(SYS_pidfd_open, getpid(), 0);
    TRY("setns_pidfd", setns(self, CLONE_NEWNS | CLONE_NEWUTS));
    TRY("uid_map", put("/proc/self/uid_map", "0 0 1\n"));
    TRY("setgroups_file", put("/proc/self/setgroups", "allow\n"));
    TRY("sethostname", sethostname("taken", 5));
    TRY("setdomainname", setdomainname("taken", 5));
    return verdict();
}
