//! Server-sent events, split as they arrive. An event stays the bytes that it came in, so that it can be passed on unchanged.

use bytes::{Bytes, BytesMut};

/// Bytes of one event.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// An event that is larger than this server reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the upstream sent an event of more than {EVENT_BYTES_MAX} bytes: ask for fewer tokens")]
pub(crate) struct TooLarge;

/// Bytes that have arrived and are no whole event yet.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    rest: BytesMut,
    /// Up to where no end of an event was found.
    searched: usize,
}

impl Splitter {
    /// Takes in what arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// The next whole event, with the empty line that ends it.
    ///
    /// # Errors
    /// When it grows beyond bounds.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, TooLarge> {
        let from = self.searched.saturating_sub(3);
        let end = memchr::memchr_iter(b'\n', &self.rest[from..]).map(|at| from + at).find(|at| {
            let before = &self.rest[..*at];
            before.ends_with(b"\n") || before.ends_with(b"\n\r")
        });
        match end {
            Some(at) => {
                self.searched = 0;
                Ok(Some(self.rest.split_to(at + 1).freeze()))
            }
            None if self.rest.len() > EVENT_BYTES_MAX => Err(TooLarge),
            None => {
                self.searched = self.rest.len();
                Ok(None)
            }
        }
    }

    /// The last event, where the stream ended without an empty line.
    pub(crate) fn rest(self) -> Option<Bytes> {
        let rest = self.rest.freeze();
        (!rest.trim_ascii().is_empty()).then_some(rest)
    }
}

/// The data of an event: its `data` lines, joined. None for comments and the like.
pub(crate) fn data(event: &[u8]) -> Option<Bytes> {
    let mut lines = event.split(|byte| *byte == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let data = line.strip_prefix(b"data:")?;
        Some(data.strip_prefix(b" ").unwrap_or(data))
    });
    let first = lines.next()?;
    let rest: Vec<&[u8]> = lines.collect();
    if rest.is_empty() {
        return Some(Bytes::copy_from_slice(first));
    }
    Some([&[first][..], &rest].concat().join(&b'\n').into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(pieces: &[&[u8]]) -> (Vec<Bytes>, Option<Bytes>) {
        let (mut splitter, mut events) = (Splitter::default(), Vec::new());
        for piece in pieces {
            splitter.push(piece);
            while let Some(event) = splitter.next().unwrap() {
                events.push(event);
            }
        }
        (events, splitter.rest())
    }

    #[test]
    fn events_end_with_an_empty_line_of_either_kind() {
        let (events, rest) = split(&[b"data: a\n\ndata: b\r\n\r\nevent: x\ndata: c\ndata: d\n", b"\n: hello"]);
        let data: Vec<_> = events.iter().map(|event| data(event).unwrap()).collect();
        assert_eq!(data, ["a", "b", "c\nd"]);
        assert_eq!(rest.as_deref(), Some(&b": hello"[..]));
        assert_eq!(super::data(b": hello\n\n"), None);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut splitter = Splitter::default();
        splitter.push(&vec![b'a'; EVENT_BYTES_MAX + 1]);
        assert_eq!(splitter.next(), Err(TooLarge));
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_events_are_the_same(cuts in prop::collection::vec(0_usize..60, 0..6)) {
            let text = b"data: {\"a\":1}\n\nevent: m\r\ndata: b\r\n\r\n: ping\n\ndata: [DONE]\n\n";
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            let (events, rest) = split(&pieces);
            prop_assert_eq!(rest, None);
            prop_assert_eq!(events.concat(), text.to_vec());
            prop_assert_eq!(events.len(), 4);
        }
    }
}
