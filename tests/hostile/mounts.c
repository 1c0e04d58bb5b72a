/* Mounts, unmounts and changes roots, by the old calls and the new ones.
   Must happen: every call is refused with EPERM or ENOSYS, for an ordinary user and for uid 0 inside. */
#include "attempt.h"
#include <sys/mount.h>

int main(void) {
    mkdir("/tmp/place", 0755);
    mkdir("/tmp/place/old", 0755);
    TRY("mount_tmpfs", mount("x", "/tmp/place", "tmpfs", 0, NULL));
    TRY("mount_proc", mount("proc", "/tmp/place", "proc", 0, NULL));
    TRY("mount_sysfs", mount("sysfs", "/tmp/place", "sysfs", 0, NULL));
    TRY("mount_cgroup", mount("cgroup", "/tmp/place", "cgroup", 0, "memory"));
    TRY("mount_cgroup2", mount("cgroup2", "/tmp/place", "cgroup2", 0, NULL));
    TRY("mount_bind", mount("/", "/tmp/place", NULL, MS_BIND | MS_REC, NULL));
    TRY("mount_remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    TRY("mount_propagation", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
    TRY("mount_overlay", mount("overlay", "/tmp/place", "overlay", 0, "lowerdir=/etc:/usr"));
    TRY("umount_proc", umount2("/proc", MNT_DETACH));
    TRY("umount_root", umount2("/", MNT_DETACH));
    TRY("umount_dev", umount2("/dev", MNT_DETACH));
    TRY("pivot_root", syscall(SYS_pivot_root, "/tmp/place", "/tmp/place/old"));
    TRY("chroot", chroot("/tmp/place"));
    TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    TRY("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
    TRY("fsmount", syscall(SYS_fsmount, 0, 0, 0));
    TRY("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1U));
    TRY("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/tmp/place", 0));
    struct { unsigned long long set, clear, propagation, userns; } attributes = {0, 1, 0, 0};
    TRY("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0x8000U, &attributes, sizeof attributes));
    TRY("swapon", syscall(SYS_swapon, "/tmp/place", 0));
    TRY("quotactl", syscall(SYS_quotactl, 0x800002 << 8, NULL, 0, NULL));
    TRY("acct", syscall(SYS_acct, "/tmp/place/old"));
    int root = open("/", O_RDONLY);
    char handle[136] = {128};
    int mount_id;
    (void)!syscall(SYS_name_to_handle_at, root, "etc", handle, &mount_id, 0);
    TRY("open_by_handle_at", syscall(SYS_open_by_handle_at, root, handle, O_RDONLY));
    return verdict();
}
