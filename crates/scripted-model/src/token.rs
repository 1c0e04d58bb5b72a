//! Tokens: bytes, and special tokens above them.
//!
//! A message is the special token of its role, its reasoning, content and calls, and the token that ends it. A prompt is its messages and
//! the opening of the assistant's next one. A completion is rendered by the same function as the message that a client sends back, so an
//! unchanged conversation goes on exactly where the last completion ended.

use crate::conversation::{Message, Piece, Role};

/// Opens a message of the system.
pub const SYSTEM: u32 = 256;
/// Opens a message of the user.
pub const USER: u32 = 257;
/// Opens a message of the assistant.
pub const ASSISTANT: u32 = 258;
/// Opens the result of a tool.
pub const TOOL: u32 = 259;
/// Ends a message.
pub const END: u32 = 260;
/// Opens reasoning.
pub const REASONING: u32 = 261;
/// Ends reasoning.
pub const ANSWER: u32 = 262;
/// Opens a call; the name of the tool follows.
pub const CALL: u32 = 263;
/// Opens the arguments of a call.
pub const ARGUMENTS: u32 = 264;
/// Stands for an image or another medium; the digest of its bytes follows.
pub const MEDIUM: u32 = 265;

/// Names of the special tokens, from [`SYSTEM`] on.
const NAMES: [&str; 10] =
    ["system", "user", "assistant", "tool", "end", "reasoning", "answer", "call", "arguments", "medium"];
/// Values of a byte, and the first special token.
const BYTES: u32 = 256;
/// The first token of two bytes, in which history is rendered that is tokenised again.
const PAIRS: u32 = 512;
/// The first token of one byte that is left over there.
const SINGLES: u32 = PAIRS + BYTES * BYTES;

/// The tokens that the model reads.
pub(crate) fn prompt(messages: &[Message], retokenise: bool) -> Vec<u32> {
    let mut ids = Vec::with_capacity(messages.iter().map(size).sum::<usize>() + 1);
    for message in messages {
        let role = match message.role {
            Role::System => SYSTEM,
            Role::User => USER,
            Role::Assistant => ASSISTANT,
            Role::Tool => TOOL,
        };
        ids.push(role);
        let start = ids.len();
        render(message, &mut ids);
        if retokenise && role == ASSISTANT {
            let merged = merge(&ids[start..]);
            ids.truncate(start);
            ids.extend(merged);
        }
        ids.push(END);
    }
    ids.push(ASSISTANT);
    ids
}

/// The tokens that the model samples; without the last one where it was cut off.
pub(crate) fn completion(message: &Message, ended: bool) -> Vec<u32> {
    let mut ids = Vec::with_capacity(size(message));
    render(message, &mut ids);
    if ended {
        ids.push(END);
    }
    ids
}

/// Bytes of a message, and a few tokens more.
fn size(message: &Message) -> usize {
    let content = message.content.iter().map(|piece| match piece {
        Piece::Text(text) | Piece::Medium(text) => text.len() + 1,
    });
    let calls = message.calls.iter().map(|call| call.tool.len() + call.arguments.len() + 2);
    message.reasoning.len() + 4 + content.chain(calls).sum::<usize>()
}

fn render(message: &Message, ids: &mut Vec<u32>) {
    let text = |ids: &mut Vec<u32>, text: &str| ids.extend(text.bytes().map(u32::from));
    if !message.reasoning.is_empty() {
        ids.push(REASONING);
        text(ids, &message.reasoning);
        ids.push(ANSWER);
    }
    for piece in &message.content {
        match piece {
            Piece::Text(said) => text(ids, said),
            Piece::Medium(digest) => {
                ids.push(MEDIUM);
                text(ids, digest);
            }
        }
    }
    for call in &message.calls {
        ids.push(CALL);
        text(ids, &call.tool);
        ids.push(ARGUMENTS);
        text(ids, &call.arguments);
    }
}

/// The same text in other tokens: of two bytes where there are two.
fn merge(ids: &[u32]) -> Vec<u32> {
    let mut merged = Vec::with_capacity(ids.len() / 2 + 1);
    let mut rest = ids;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first >= BYTES {
            merged.push(*first);
        } else if let [second, after @ ..] = rest
            && *second < BYTES
        {
            merged.push(PAIRS + first * BYTES + second);
            rest = after;
        } else {
            merged.push(SINGLES + first);
        }
    }
    merged
}

/// The bytes of a token; those of a name in brackets where it is a special one, and none where there is no such token.
#[must_use]
pub fn bytes(id: u32) -> Vec<u8> {
    let byte = |value: u32| u8::try_from(value % BYTES).unwrap_or_default();
    match id {
        0..BYTES => vec![byte(id)],
        BYTES..PAIRS => match NAMES.get((id - BYTES) as usize) {
            Some(name) => format!("<|{name}|>").into_bytes(),
            None => Vec::new(),
        },
        PAIRS..SINGLES => vec![byte((id - PAIRS) / BYTES), byte(id - PAIRS)],
        _ if id < SINGLES + BYTES => vec![byte(id - SINGLES)],
        _ => Vec::new(),
    }
}

/// The text of tokens, with the names of special ones.
#[must_use]
pub fn decode(ids: &[u32]) -> String {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| bytes(*id)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number that stands for a list of tokens (FNV-1a).
pub(crate) fn fingerprint(ids: &[u32]) -> u64 {
    ids.iter().fold(0xcbf2_9ce4_8422_2325, |hash, id| (hash ^ u64::from(*id)).wrapping_mul(0x0100_0000_01b3))
}

/// Natural logarithms of the probabilities of sampled tokens, by the prompt and the position. They are multiples of 1/1024 from -4 on,
/// exact in every format of numbers that they may pass through.
pub(crate) fn logprobs(prompt: &[u32], count: usize) -> Vec<f32> {
    let prompt = fingerprint(prompt);
    let one = |position: u64| {
        // SplitMix64.
        let mut hash = prompt.wrapping_add(position.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let drawn = u16::try_from((hash >> 31) % 4096).unwrap_or_default();
        -(f32::from(drawn) + 1.0) / 1024.0
    };
    (1..=count as u64).map(one).collect()
}
