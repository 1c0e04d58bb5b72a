//! Programs that look for a way out over the network.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use palestra_sandbox::wire::User;

use crate::arena::{Arena, HostileSandbox};

crate::on_every_back_end! { network, sandboxes_do_not_meet }

/// Ports that no connection gets by itself.
const PORTS: std::ops::Range<u16> = 20_000..32_768;

/// Answers of a network namespace with nothing but its own loopback.
const OUTWARD: &[&str] = &[
    "ECONNREFUSED",
    "ENETUNREACH",
    "EADDRNOTAVAIL",
    "EHOSTUNREACH",
    "ENODEV",
    "ENOENT",
    "EAFNOSUPPORT",
    "EINVAL",
    "ENOSYS",
];

/// Listens below the ports that the kernel gives to those who connect: a try at one of those may by chance be given the very port that
/// it connects to, and meets itself.
fn listen(address: &str) -> TcpListener {
    PORTS.into_iter().find_map(|port| TcpListener::bind((address, port)).ok()).expect("a port")
}

async fn network(arena: &Arena) {
    let listener = listen("127.0.0.1");
    let any = listen("0.0.0.0");
    let name = format!("palestra-hostile-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let abstracts = UnixListener::bind_addr(&address).expect("a socket");
    listener.set_nonblocking(true).expect("set");
    any.set_nonblocking(true).expect("set");
    abstracts.set_nonblocking(true).expect("set");
    let sandbox = arena.sandbox().await;
    let path = sandbox.put("network").await;
    let walls = [OUTWARD, &["EPERM", "EACCES"]].concat();
    for listener in [&listener, &any] {
        let port = listener.local_addr().expect("an address").port().to_string();
        for user in [User { uid: 1000, gid: 1000 }, User { uid: 0, gid: 0 }] {
            let command = HostileSandbox::command(&path, &[&port, &name]).user(user);
            let output = sandbox.sandbox.exec(&command).await.expect("the sandbox answers");
            assert!(output.text().contains("own loopback works"), "{output:?}");
            HostileSandbox::read_tries(&output).all_met(41, &walls);
        }
        let met = listener.accept().expect_err("somebody came over the host's loopback");
        assert_eq!(met.kind(), ErrorKind::WouldBlock);
    }
    let met = abstracts.accept().expect_err("somebody came over an abstract socket");
    assert_eq!(met.kind(), ErrorKind::WouldBlock);
    // The other way round: the host does not see what listens inside.
    let inside = sandbox.shell("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '").await;
    assert_eq!(inside, "lo\n");
}

/// Files that one sandbox leaves wherever another might look are found by itself alone.
async fn sandboxes_do_not_meet(arena: &Arena) {
    let port = PORTS.start.to_string();
    let (first, second) = (arena.sandbox().await, arena.sandbox().await);
    let word = format!("trace{}word", std::process::id());
    let leave = first.put("leave_traces").await;
    assert_eq!(first.shell(&format!("TRACE={word} {leave} {word} {port}")).await, "left\n");
    let path = second.put("snoop").await;
    let nothing = second.exec(&path, &[&word]).await;
    assert_eq!((nothing.exited.code, nothing.text().as_str()), (Some(0), "looked\n"), "{nothing:?}");
    let walls = [OUTWARD, &["EPERM", "EACCES"]].concat();
    second.tries("network", &[&port, &word]).await.all_met(41, &walls);
    // The same look does find it where it is.
    let path = first.put("snoop").await;
    let all = first.exec(&path, &[&word]).await;
    assert_eq!(all.exited.code, Some(1), "{all:?}");
    for place in ["/tmp/trace-", "/dev/shm/trace-", "/proc/net/unix", "shared memory", "/environ", "/cmdline"] {
        assert!(all.text().contains(place), "{place} was not looked at: {}", all.text());
    }
}
