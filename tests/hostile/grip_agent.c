/* Reaches for the agent (process 1): traces it, reads and writes its memory, opens its files, takes over its descriptors, changes
   its limits and scheduling.
   Must happen: every try is refused, and the agent still answers. */
#include "attempt.h"
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

static char byte;

static long pidfd_take(int descriptor) {
    int process = syscall(SYS_pidfd_open, 1, 0);
    return process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, descriptor, 0);
}

static long foreign_call(long number) {
    struct iovec near = {&byte, 1}, far = {(void *)0x400000, 1};
    return syscall(number, 1, &near, 1UL, &far, 1UL, 0UL);
}

int main(void) {
    TRY("attach", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
    TRY("seize", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
    TRY("process_vm_readv", foreign_call(SYS_process_vm_readv));
    TRY("process_vm_writev", foreign_call(SYS_process_vm_writev));
    TRY("pidfd_getfd_input", pidfd_take(0));
    TRY("pidfd_getfd_output", pidfd_take(1));
    TRY("mem", open("/proc/1/mem", O_RDWR));
    TRY("environ", open("/proc/1/environ", O_RDONLY) < 0 ? -1 : read(open("/proc/1/environ", O_RDONLY), &byte, 1) > 0 ? 0 : -1);
    TRY("maps", open("/proc/1/maps", O_RDONLY) < 0 ? -1 : read(open("/proc/1/maps", O_RDONLY), &byte, 1) > 0 ? 0 : -1);
    TRY("root", chdir("/proc/1/root"));
    TRY("cwd", chdir("/proc/1/cwd"));
    TRY("exe", open("/proc/1/exe", O_RDONLY));
    TRY("input", open("/proc/1/fd/0", O_RDONLY | O_NONBLOCK));
    TRY("output", open("/proc/1/fd/1", O_WRONLY | O_NONBLOCK));
    TRY("map_files", open("/proc/1/map_files", O_RDONLY));
    TRY("syscall", open("/proc/1/syscall", O_RDONLY) < 0 ? -1 : read(open("/proc/1/syscall", O_RDONLY), &byte, 1) > 0 ? 0 : -1);
    TRY("namespace", open("/proc/1/ns/user", O_RDONLY));
    TRY("oom", put("/proc/1/oom_score_adj", "1000\n"));
    TRY("clear_refs", put("/proc/1/clear_refs", "1\n"));
    struct rlimit none = {0, 0};
    TRY("prlimit", prlimit(1, RLIMIT_NOFILE, &none, NULL));
    TRY("priority", setpriority(PRIO_PROCESS, 1, 19));
    TRY("kcmp", syscall(SYS_kcmp, getpid(), 1, 0, 0UL, 0UL));
    TRY("kill", kill(1, SIGKILL));
    TRY("stop", kill(1, SIGSTOP));
    return verdict();
}
