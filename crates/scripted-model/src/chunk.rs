//! The parts in which a completion is sent: some tokens each, with the text that has become whole by them.

use std::ops::Range;

use crate::token::{ANSWER, ARGUMENTS, CALL, END, REASONING};

/// A part of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Its tokens, within those of the completion.
    pub(crate) tokens: Range<usize>,
    pub(crate) deltas: Vec<Delta>,
}

/// An addition to the answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Delta {
    Reasoning(String),
    Text(String),
    /// The call of this number begins.
    Call(usize),
    /// More of the arguments of the call that began last.
    Arguments(String),
}

/// The kind of text that the tokens are in.
#[derive(Clone, Copy)]
enum State {
    Reasoning,
    Text,
    Tool,
    Arguments,
}

/// Cuts a completion into parts of `size` tokens. A character whose bytes are in two parts is sent with the second.
pub(crate) fn chunks(completion: &[u32], size: usize) -> Vec<Chunk> {
    let (mut state, mut calls, mut pending) = (State::Text, 0, Vec::new());
    let mut chunks = Vec::new();
    let mut start = 0;
    for tokens in completion.chunks(size) {
        let mut deltas = Vec::new();
        for id in tokens {
            if let Ok(byte) = u8::try_from(*id) {
                pending.push(byte);
                continue;
            }
            flush(state, &mut pending, &mut deltas);
            match *id {
                REASONING => state = State::Reasoning,
                ANSWER => state = State::Text,
                CALL => state = State::Tool,
                ARGUMENTS => {
                    // The name of the tool is known from the reply.
                    pending.clear();
                    deltas.push(Delta::Call(calls));
                    calls += 1;
                    state = State::Arguments;
                }
                END => {}
                other => debug_assert!(false, "{other} is in no completion"),
            }
        }
        flush(state, &mut pending, &mut deltas);
        chunks.push(Chunk { tokens: start..start + tokens.len(), deltas });
        start += tokens.len();
    }
    chunks
}

/// Passes on the characters that are whole.
fn flush(state: State, pending: &mut Vec<u8>, deltas: &mut Vec<Delta>) {
    if matches!(state, State::Tool) {
        return;
    }
    let whole = match std::str::from_utf8(pending) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    let rest = pending.split_off(whole);
    let text = String::from_utf8(std::mem::replace(pending, rest)).unwrap_or_default();
    if text.is_empty() {
        return;
    }
    deltas.push(match state {
        State::Reasoning => Delta::Reasoning(text),
        State::Text | State::Tool => Delta::Text(text),
        State::Arguments => Delta::Arguments(text),
    });
}
