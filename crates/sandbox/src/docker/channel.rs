//! Bytes between threads that block and tasks that do not.

use std::io::{self, Read, Write};

use futures::Stream;
use tokio::sync::mpsc;

/// Pieces that wait for whoever takes them.
const PIECES_MAX: usize = 16;
/// Bytes of a piece.
const PIECE_BYTES: usize = 128 * 1024;

/// Stream of the bytes that a blocking function writes. An error of the function is the stream's last item, so that nobody takes a
/// part for the whole.
pub(super) fn written(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static {
    let (sender, mut pieces) = mpsc::channel(PIECES_MAX);
    let failure = sender.clone();
    tokio::task::spawn_blocking(move || {
        let mut writer = io::BufWriter::with_capacity(PIECE_BYTES, Sender(sender));
        if let Err(error) = write(&mut writer).and_then(|()| writer.flush()) {
            // Nobody listens where the other side gave up first.
            let _ = failure.blocking_send(Err(error));
        }
    });
    futures::stream::poll_fn(move |context| pieces.poll_recv(context))
}

/// A reader for a thread that blocks, and where to put what it reads.
pub(super) fn readable() -> (mpsc::Sender<io::Result<Vec<u8>>>, impl Read + Send + 'static) {
    let (sender, pieces) = mpsc::channel(PIECES_MAX);
    (sender, Receiver { pieces, rest: io::Cursor::default() })
}

struct Sender(mpsc::Sender<io::Result<Vec<u8>>>);

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(bytes.to_vec()));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Receiver {
    pieces: mpsc::Receiver<io::Result<Vec<u8>>>,
    rest: io::Cursor<Vec<u8>>,
}

impl Read for Receiver {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let taken = self.rest.read(into)?;
            if taken > 0 || into.is_empty() {
                return Ok(taken);
            }
            match self.pieces.blocking_recv() {
                Some(piece) => self.rest = io::Cursor::new(piece?),
                None => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, TryStreamExt as _};

    use super::*;

    #[tokio::test]
    async fn bytes_pass_in_both_directions_and_failures_with_them() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
        let sent = bytes.clone();
        let mut stream = written(move |writer| writer.write_all(&sent)).boxed();
        let (sender, mut reader) = readable();
        let reading = tokio::task::spawn_blocking(move || {
            let mut read = Vec::new();
            reader.read_to_end(&mut read).map(|_| read)
        });
        while let Some(piece) = stream.next().await {
            sender.send(piece).await.expect("taken");
        }
        drop(sender);
        assert!(reading.await.expect("joined").expect("read") == bytes);

        let broken = written(|writer| writer.write_all(b"half").and(Err(io::Error::other("broken"))));
        let collected: io::Result<Vec<Vec<u8>>> = broken.try_collect().await;
        assert_eq!(collected.expect_err("broken").to_string(), "broken");
    }

    #[tokio::test]
    async fn a_writer_ends_when_nobody_listens() {
        let (told, heard) = std::sync::mpsc::channel();
        let stream = written(move |writer| {
            let ended = loop {
                if let Err(error) = writer.write_all(&[0; 4096]) {
                    break error.kind();
                }
            };
            told.send(ended).expect("heard");
            Ok(())
        });
        drop(stream);
        let ended = tokio::task::spawn_blocking(move || heard.recv()).await.expect("joined");
        assert_eq!(ended.expect("told"), io::ErrorKind::BrokenPipe);
    }
}
