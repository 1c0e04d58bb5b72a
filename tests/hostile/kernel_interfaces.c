/* Calls parts of the kernel that ordinary programs do without and that have been ways out before: key rings, BPF, userfaultfd,
   io_uring, performance events, modules, kexec, reboot, ports, fanotify and others.
   Must happen: each is refused with EPERM, EACCES or ENOSYS. */
#include "attempt.h"
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
static struct perf_event_attr cycles = {.type = PERF_TYPE_SOFTWARE, .size = sizeof cycles, .config = PERF_COUNT_SW_CPU_CLOCK, .exclude_kernel = 1};
static char ring[256];

int main(void) {
    TRY("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
    TRY("keyctl_join", syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
    TRY("add_key", syscall(SYS_add_key, "user", "hostile", "x", 1UL, KEY_SPEC_PROCESS_KEYRING));
    TRY("request_key", syscall(SYS_request_key, "user", "hostile", NULL, KEY_SPEC_PROCESS_KEYRING));
    TRY("bpf_map", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
    TRY("bpf_program", syscall(SYS_bpf, BPF_PROG_LOAD, &map, sizeof map));
    TRY("userfaultfd", syscall(SYS_userfaultfd, 1));
    TRY("io_uring_setup", syscall(SYS_io_uring_setup, 8, ring));
    TRY("io_uring_enter", syscall(SYS_io_uring_enter, 0, 1, 1, 0, NULL, 0UL));
    TRY("io_uring_register", syscall(SYS_io_uring_register, 0, 0, NULL, 0));
    TRY("perf_event_open", syscall(SYS_perf_event_open, &cycles, 0, -1, -1, 0UL));
    TRY("init_module", syscall(SYS_init_module, ring, sizeof ring, ""));
    TRY("finit_module", syscall(SYS_finit_module, 0, "", 0));
    TRY("delete_module", syscall(SYS_delete_module, "loop", O_NONBLOCK));
    TRY("kexec_load", syscall(SYS_kexec_load, 0UL, 0UL, NULL, 0UL));
    TRY("kexec_file_load", syscall(SYS_kexec_file_load, 0, 0, 0UL, "", 0UL));
    /* With a wrong magic number, so that nothing comes of it where it is allowed. */
    TRY("reboot", syscall(SYS_reboot, 0, 0, 0, NULL) == -1 && errno == EINVAL ? 0 : -1);
    TRY("syslog", syscall(SYS_syslog, 3, ring, (int)sizeof ring));
    TRY("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
    TRY("vhangup", syscall(SYS_vhangup));
    TRY("lookup_dcookie", syscall(SYS_lookup_dcookie, 0UL, ring, sizeof ring));
    TRY("move_pages", syscall(SYS_move_pages, 1, 0UL, NULL, NULL, NULL, 0));
    TRY("migrate_pages", syscall(SYS_migrate_pages, 1, 0UL, NULL, NULL));
    TRY("process_madvise", syscall(SYS_process_madvise, 0, NULL, 0UL, 0, 0));
    TRY("quotactl_fd", syscall(SYS_quotactl_fd, 0, 0, 0, NULL));
    TRY("memfd_secret", syscall(447, 0));
    TRY("nfsservctl", syscall(SYS_nfsservctl));
    TRY("ioprio_realtime", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
    TRY("personality", syscall(SYS_personality, READ_IMPLIES_EXEC));
#ifdef __x86_64__
    char table[16] = {0};
    TRY("iopl", syscall(SYS_iopl, 3));
    TRY("ioperm", syscall(SYS_ioperm, 0x70UL, 2UL, 1));
    TRY("modify_ldt", syscall(SYS_modify_ldt, 0, table, sizeof table));
    TRY("uselib", syscall(SYS_uselib, "/bin/sh"));
    TRY("sysfs", syscall(SYS_sysfs, 3));
#endif
    return verdict();
}
