//! A TCP proxy that knows where WebSocket frames end, and cuts connections exactly there.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Heads of handshakes are shorter than this, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Which way frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

/// Where a connection is cut: after `frames` frames in `direction` have arrived on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub direction: Direction,
    pub frames: usize,
}

/// The traffic of all connections.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    pub to_server: usize,
    pub to_client: usize,
    pub cuts: usize,
}

/// The proxy; it ends with this value.
pub struct CuttingProxy {
    pub url: String,
    passed: Arc<Mutex<Passed>>,
    _tasks: JoinSet<()>,
}

impl CuttingProxy {
    /// Stands before `server` (host and port); connection k is cut at `cuts[k]`, later ones are left alone.
    pub async fn start(server: String, cuts: Vec<Cut>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let passed = Arc::new(Mutex::new(Passed::default()));
        let mut tasks = JoinSet::new();
        let counted = Arc::clone(&passed);
        tasks.spawn(async move {
            let mut cuts = cuts.into_iter();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                relay(client, &server, cuts.next(), &counted).await;
            }
        });
        Self { url, passed, _tasks: tasks }
    }

    pub fn passed(&self) -> Passed {
        *self.passed.lock().unwrap()
    }
}

/// Carries one connection to its end. Both sides are dropped at once, as by a cable that is pulled.
async fn relay(mut client: TcpStream, server: &str, cut: Option<Cut>, passed: &Mutex<Passed>) {
    let Ok(mut upstream) = TcpStream::connect(server).await else { return };
    client.set_nodelay(true).unwrap();
    upstream.set_nodelay(true).unwrap();
    if copy_head(&mut client, &mut upstream).await.is_none() || copy_head(&mut upstream, &mut client).await.is_none() {
        return;
    }
    let limit = |direction| cut.filter(|cut| cut.direction == direction).map(|cut| cut.frames);
    let (mut client_in, mut client_out) = client.split();
    let (mut server_in, mut server_out) = upstream.split();
    let was_cut = tokio::select! {
        cut = copy_frames(&mut client_in, &mut server_out, limit(Direction::ToServer), || passed.lock().unwrap().to_server += 1) => cut,
        cut = copy_frames(&mut server_in, &mut client_out, limit(Direction::ToClient), || passed.lock().unwrap().to_client += 1) => cut,
    };
    if was_cut {
        passed.lock().unwrap().cuts += 1;
    }
}

/// Copies up to the empty line that ends a handshake's head.
async fn copy_head(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(from.read_u8().await.ok()?);
        assert!(head.len() < HEAD_BYTES_MAX, "a head without an end");
    }
    to.write_all(&head).await.ok()
}

/// Copies frames (RFC 6455, 5.2) until `limit` of them have passed, which answers true, or the connection ends.
async fn copy_frames(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    limit: Option<usize>,
    mut count: impl FnMut(),
) -> bool {
    let mut passed = 0;
    loop {
        if limit == Some(passed) {
            return true;
        }
        let Ok(frame) = read_frame(from).await else { return false };
        if to.write_all(&frame).await.is_err() {
            return false;
        }
        count();
        passed += 1;
    }
}

async fn read_frame(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut frame = vec![0; 2];
    from.read_exact(&mut frame).await?;
    let masked = frame[1] & 0x80 != 0;
    let extended = match frame[1] & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let begin = frame.len();
    frame.resize(begin + extended, 0);
    from.read_exact(&mut frame[begin..]).await?;
    let length = match extended {
        0 => usize::from(frame[1] & 0x7f),
        _ => frame[begin..].iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)),
    };
    let begin = frame.len();
    frame.resize(begin + if masked { 4 } else { 0 } + length, 0);
    from.read_exact(&mut frame[begin..]).await?;
    Ok(frame)
}
