//! Tokens to text one at a time: a character that several tokens make comes out when it is whole.

use super::Tokenizer;

/// Turns tokens into text as they come. Special tokens are no text.
#[derive(Debug)]
pub struct TextStream {
    tokenizer: Tokenizer,
    /// The beginning of a character: at most 3 bytes between calls.
    pending: Vec<u8>,
}

impl TextStream {
    pub(super) const fn new(tokenizer: Tokenizer) -> Self {
        Self { tokenizer, pending: Vec::new() }
    }

    /// The text that a further token completes, which may be empty. Bytes that no further ones can make a character
    /// become U+FFFD.
    pub fn push(&mut self, token: u32) -> String {
        if !self.tokenizer.is_special(token) {
            self.pending.extend(self.tokenizer.token_bytes(token));
        }
        let whole = self.pending.len() - unfinished(&self.pending);
        let rest = self.pending.split_off(whole);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }

    /// Remainder at the end: U+FFFD where a character stayed unfinished.
    #[must_use]
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// Number of bytes at the end of a character whose rest may still come.
fn unfinished(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(_) => return 0,
            Err(error) => match error.error_len() {
                None => return rest.len() - error.valid_up_to(),
                Some(broken) => rest = &rest[error.valid_up_to() + broken..],
            },
        }
    }
}
