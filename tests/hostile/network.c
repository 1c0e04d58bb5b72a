/* Looks for a way out over the network: arguments are a TCP port of the host's loopback and the name of an abstract socket of the
   host, both of which somebody serves.
   Must happen: nothing outside the sandbox is reached, no device but its own loopback is there, raw sockets and unusual families
   are refused. Talking to itself over loopback works, or the program says so. */
#include "attempt.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

static long reach(int kind, const char *address, int port) {
    int file = socket(AF_INET, kind, 0);
    struct timeval patience = {.tv_sec = 2};
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &place.sin_addr);
    if (file < 0) return -1;
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return connect(file, (struct sockaddr *)&place, sizeof place);
}

static long reach6(const char *address, int port) {
    int file = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 place = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    inet_pton(AF_INET6, address, &place.sin6_addr);
    return file < 0 ? -1 : connect(file, (struct sockaddr *)&place, sizeof place);
}

static long reach_name(const char *name, int abstract) {
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    strncpy(place.sun_path + abstract, name, sizeof place.sun_path - 2);
    return file < 0 ? -1 : connect(file, (struct sockaddr *)&place, sizeof(sa_family_t) + abstract + strlen(name) + !abstract);
}

static long other_devices(void) {
    struct ifaddrs *all = NULL;
    long found = -1;
    if (!getifaddrs(&all)) {
        for (struct ifaddrs *one = all; one; one = one->ifa_next) {
            if (!(one->ifa_flags & IFF_LOOPBACK)) found = 0;
        }
    }
    errno = ENODEV;
    return found;
}

static long device_up(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_PROMISC};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    int file = socket(AF_INET, SOCK_DGRAM, 0);
    return file < 0 ? -1 : ioctl(file, SIOCSIFFLAGS, &request);
}

static int own_loopback(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), caller = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof place;
    return !bind(listener, (struct sockaddr *)&place, size) && !listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&place, &size)
        && !connect(caller, (struct sockaddr *)&place, size);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    int port = atoi(words[1]);
    TRY("host_loopback", reach(SOCK_STREAM, "127.0.0.1", port));
    TRY("host_loopback_alias", reach(SOCK_STREAM, "127.1.2.3", port));
    TRY("host_any", reach(SOCK_STREAM, "0.0.0.0", port));
    TRY("host_loopback_6", reach6("::1", port));
    TRY("host_loopback_mapped", reach6("::ffff:127.0.0.1", port));
    TRY("host_abstract_socket", reach_name(words[2], 1));
    TRY("docker_socket", reach_name("/var/run/docker.sock", 0));
    TRY("containerd_socket", reach_name("/run/containerd/containerd.sock", 0));
    TRY("bus_socket", reach_name("/run/dbus/system_bus_socket", 0));
    TRY("metadata", reach(SOCK_STREAM, "169.254.169.254", 80));
    TRY("metadata_other", reach(SOCK_STREAM, "169.254.170.2", 80));
    TRY("metadata_6", reach6("fd00:ec2::254", 80));
    TRY("link_local_6", reach6("fe80::1", 80));
    TRY("private_10", reach(SOCK_STREAM, "10.0.0.1", 80));
    TRY("private_172", reach(SOCK_STREAM, "172.17.0.1", 80));
    TRY("private_192", reach(SOCK_STREAM, "192.168.0.1", 80));
    TRY("public", reach(SOCK_STREAM, "1.1.1.1", 443));
    TRY("public_6", reach6("2606:4700:4700::1111", 443));
    TRY("dns", reach(SOCK_DGRAM, "8.8.8.8", 53));
    TRY("multicast", reach(SOCK_DGRAM, "224.0.0.251", 5353));
    TRY("broadcast", reach(SOCK_DGRAM, "255.255.255.255", 67));
    TRY("devices", other_devices());
    TRY("raise_device", device_up("lo"));
    TRY("raw_icmp", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    TRY("raw_ip", socket(AF_INET, SOCK_RAW, IPPROTO_RAW));
    TRY("raw_6", socket(AF_INET6, SOCK_RAW, IPPROTO_RAW));
    TRY("packet", socket(AF_PACKET, SOCK_RAW, htons(3)));
    TRY("packet_datagram", socket(AF_PACKET, SOCK_DGRAM, htons(3)));
    TRY("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
    TRY("crypto", socket(38, SOCK_SEQPACKET, 0));
    TRY("key", socket(AF_KEY, SOCK_RAW, 2));
    TRY("xdp", socket(44, SOCK_RAW, 0));
    TRY("can", socket(AF_CAN, SOCK_RAW, 1));
    TRY("bluetooth", socket(AF_BLUETOOTH, SOCK_RAW, 1));
    TRY("tipc", socket(30, SOCK_SEQPACKET, 0));
    TRY("rds", socket(21, SOCK_SEQPACKET, 0));
    TRY("x25", socket(9, SOCK_SEQPACKET, 0));
    TRY("netlink_audit", socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
    TRY("netlink_netfilter", socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
    TRY("netlink_uevent", socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
    TRY("netlink_xfrm", socket(AF_NETLINK, SOCK_RAW, NETLINK_XFRM));
    printf("own loopback %s\n", own_loopback() ? "works" : "fails");
    return verdict();
}
