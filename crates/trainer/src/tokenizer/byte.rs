//! The built-in tokenizer: one token per byte, and seven that no text can contain.

use serde_json::{Map, Value, json};

use super::character_of;

/// Begins a conversation.
pub const BOS: u32 = 256;
/// Ends each message.
pub const END: u32 = 257;
/// Begins a message of the system.
pub const SYSTEM: u32 = 258;
/// Begins a message of the user or the environment.
pub const USER: u32 = 259;
/// Begins an answer.
pub const ASSISTANT: u32 = 260;
/// Begins a tool's result.
pub const TOOL: u32 = 261;
/// Fills rows of a batch.
pub const PAD: u32 = 262;
/// Rows of a model's embedding: a multiple of 8.
pub const VOCABULARY: usize = 264;

/// Special tokens from 256 on.
const SPECIAL: [&str; 7] = ["<|bos|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|pad|>"];

/// The plain chat format for readers that know only templates: the same tokens as `chat::plain` gives, wherever no text
/// contains the name of a special token.
const CHAT_TEMPLATE: &str = include_str!("byte_chat_template.jinja");

pub(super) fn decode(tokens: &[u32]) -> String {
    let bytes: Vec<u8> = tokens.iter().filter_map(|token| u8::try_from(*token).ok()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn token_bytes(id: u32) -> Vec<u8> {
    match u8::try_from(id) {
        Ok(byte) => vec![byte],
        Err(_) => special(id).map(|name| name.as_bytes().to_vec()).unwrap_or_default(),
    }
}

fn special(id: u32) -> Option<&'static str> {
    let place = usize::try_from(id.checked_sub(BOS)?).ok()?;
    SPECIAL.get(place).copied()
}

pub(super) fn id_of(name: &str) -> Option<u32> {
    (BOS..=PAD).find(|id| special(*id) == Some(name)).or_else(|| {
        let mut characters = name.chars();
        let only = characters.next().filter(|_| characters.next().is_none())?;
        (0..=u8::MAX).find(|byte| character_of(*byte) == only).map(u32::from)
    })
}

/// As a `tokenizer.json`: pair encoding without a single merge.
pub(super) fn tokenizer_json() -> String {
    let vocabulary: Map<String, Value> =
        (0..=u8::MAX).map(|byte| (character_of(byte).to_string(), Value::from(byte))).collect();
    let added: Vec<Value> = (BOS..=PAD)
        .map(|id| {
            json!({"id": id, "content": special(id), "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true})
        })
        .collect();
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": level, "post_processor": null, "decoder": level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary, "merges": []},
    })
    .to_string()
}

/// As a `tokenizer_config.json`.
pub(super) fn config() -> Map<String, Value> {
    let mut config = super::hugging_face::new_config();
    for (key, id) in [("bos_token", BOS), ("eos_token", END), ("pad_token", PAD)] {
        config.insert(key.to_owned(), special(id).into());
    }
    config.insert("chat_template".to_owned(), CHAT_TEMPLATE.into());
    config
}
