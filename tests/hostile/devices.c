/* Makes device nodes, opens devices of the host, and makes the devices by which overlays hide files.
   Must happen: no node comes to be, no device but the harmless ones is there, and /dev and /proc take no files of ours. */
#include "attempt.h"
#include <sys/sysmacros.h>
#include <sys/xattr.h>

int main(void) {
    char own[64];
    snprintf(own, sizeof own, "/tmp/own-%d", (int)geteuid());
    int file = open(own, O_WRONLY | O_CREAT, 0600);
    if (file < 0) return 2;
    TRY("mknod_memory", mknod("/tmp/mem", S_IFCHR | 0666, makedev(1, 1)));
    TRY("mknod_null", mknod("/tmp/null", S_IFCHR | 0666, makedev(1, 3)));
    TRY("mknod_disk", mknod("/tmp/disk", S_IFBLK | 0666, makedev(254, 0)));
    TRY("mknod_loop", mknod("/tmp/loop", S_IFBLK | 0666, makedev(7, 0)));
    TRY("mknod_whiteout", mknod("/tmp/whiteout", S_IFCHR | 0666, makedev(0, 0)));
    TRY("mknod_in_dev", mknod("/dev/taken", S_IFCHR | 0666, makedev(1, 1)));
    TRY("rename_whiteout", syscall(SYS_renameat2, AT_FDCWD, own, AT_FDCWD, "/tmp/moved", 4));
    TRY("xattr_trusted", fsetxattr(file, "trusted.overlay.opaque", "y", 1, 0));
    TRY("xattr_capability", fsetxattr(file, "security.capability", "\1\0\0\2\377\377\377\377\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0));
    TRY("open_fuse", open("/dev/fuse", O_RDWR));
    TRY("open_tun", open("/dev/net/tun", O_RDWR));
    TRY("open_kvm", open("/dev/kvm", O_RDWR));
    TRY("open_vsock", open("/dev/vsock", O_RDWR));
    TRY("open_userfaultfd", open("/dev/userfaultfd", O_RDWR));
    TRY("open_mapper", open("/dev/mapper/control", O_RDWR));
    TRY("open_input", open("/dev/input/event0", O_RDWR));
    TRY("open_terminal_1", open("/dev/tty1", O_RDWR | O_NOCTTY));
    TRY("open_serial", open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_NONBLOCK));
    return verdict();
}
