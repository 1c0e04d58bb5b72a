/* Writes to the files by which a kernel is steered, and reads those that show what is not the sandbox's.
   Must happen: every open or write fails, and the values of the host are what they were. */
#include "attempt.h"

static long peek(const char *path) {
    char byte;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return file < 0 || read(file, &byte, 1) != 1 ? -1 : 0;
}

int main(void) {
    static const char *const written[][2] = {
        {"/proc/sys/kernel/core_pattern", "|/tmp/taken %p"},
        {"/proc/sys/kernel/hostname", "taken"},
        {"/proc/sys/kernel/modprobe", "/tmp/taken"},
        {"/proc/sys/kernel/panic", "1"},
        {"/proc/sys/kernel/pid_max", "301"},
        {"/proc/sys/kernel/yama/ptrace_scope", "0"},
        {"/proc/sys/kernel/shmmax", "1"},
        {"/proc/sys/vm/overcommit_memory", "1"},
        {"/proc/sys/vm/drop_caches", "1"},
        {"/proc/sys/vm/panic_on_oom", "1"},
        {"/proc/sys/fs/file-max", "10"},
        {"/proc/sys/fs/binfmt_misc/register", ":x:M::x::/tmp/taken:C"},
        {"/proc/sys/net/ipv4/ip_forward", "1"},
        {"/proc/sysrq-trigger", "h"},
        {"/proc/irq/default_smp_affinity", "1"},
        {"/proc/mtrr", "disable=0"},
        {"/proc/fs/nfsd/threads", "1"},
        {"/proc/acpi/wakeup", "x"},
        {"/proc/asound/card0/id", "x"},
        {"/proc/bus/pci/devices", "x"},
        {"/proc/self/oom_score_adj", "-1000"},
        {"/proc/self/attr/current", "unconfined"},
        {"/sys/kernel/uevent_helper", "/tmp/taken"},
        {"/sys/kernel/mm/ksm/run", "1"},
        {"/sys/kernel/debug/sched/features", "x"},
        {"/sys/kernel/security/apparmor/.remove", "x"},
        {"/sys/fs/cgroup/cgroup.procs", "1"},
        {"/sys/fs/cgroup/memory/cgroup.procs", "1"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "-1"},
        {"/sys/fs/cgroup/memory/release_agent", "/tmp/taken"},
        {"/sys/fs/cgroup/pids/pids.max", "max"},
        {"/sys/fs/cgroup/devices/devices.allow", "a"},
        {"/sys/power/state", "mem"},
        {"/sys/module/loop/parameters/max_loop", "1"},
        {"/sys/class/block/vda/queue/scheduler", "none"},
        {"/dev/kmsg", "<0>taken\n"},
        {"/dev/mem", "x"},
        {"/dev/port", "x"},
        {"/dev/sda", "x"},
        {"/dev/vda", "x"},
        {"/dev/loop0", "x"},
        {"/dev/loop-control", "x"},
        {"/dev/watchdog", "x"},
        {"/dev/uinput", "x"},
        {"/dev/console", "taken\n"},
    };
    static const char *const read_alone[] = {
        "/proc/kcore", "/proc/kmsg", "/proc/kpagecount", "/proc/kpageflags", "/proc/timer_list", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/sched_debug", "/proc/keys", "/proc/key-users", "/proc/1/stack", "/sys/kernel/debug/tracing/trace", "/sys/kernel/tracing/trace", "/sys/firmware/dmi/tables/DMI", "/dev/mem", "/dev/kmsg", "/dev/vda",
    };
    char name[128];
    for (size_t index = 0; index < sizeof written / sizeof *written; index++) {
        snprintf(name, sizeof name, "write:%s", written[index][0]);
        TRY(name, put(written[index][0], written[index][1]));
    }
    for (size_t index = 0; index < sizeof read_alone / sizeof *read_alone; index++) {
        snprintf(name, sizeof name, "read:%s", read_alone[index]);
        TRY(name, peek(read_alone[index]));
    }
    return verdict();
}
