//! Builds a tokenizer from the metadata of a GGUF file: its vocabulary, merges and pre-tokenizer, written as the
//! `tokenizer.json` that Hugging Face would have.

use serde_json::{Map, Value, json};

use super::hugging_face::{HuggingFace, new_config};
use crate::failure::TrainerError;
use crate::model::load::gguf::Metadata;

/// Kinds of tokens that are not plain pieces of text (<https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>).
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// Pattern by which Llama 3 cuts a text before merging; Qwen 2 differs in taking digits one by one.
const LLAMA_3_PATTERN: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const QWEN_2_PATTERN: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// Builds it.
pub(super) fn build(metadata: &Metadata) -> Result<HuggingFace, TrainerError> {
    match metadata.text("tokenizer.ggml.model") {
        Some("gpt2") => {}
        Some(other) => {
            return Err(bad(format!(
                "the tokenizer of the GGUF file is of the kind {other:?}; `gpt2` can be read: use the model's Hugging \
                 Face folder instead"
            )));
        }
        None => return Err(bad("the GGUF file has no tokenizer (tokenizer.ggml.model)")),
    }
    let tokens = metadata.texts("tokenizer.ggml.tokens").ok_or_else(|| bad("tokenizer.ggml.tokens is missing"))?;
    let merges = metadata.texts("tokenizer.ggml.merges").ok_or_else(|| bad("tokenizer.ggml.merges is missing"))?;
    let kinds = metadata.integers("tokenizer.ggml.token_type").unwrap_or_else(|| vec![1; tokens.len()]);
    if kinds.len() != tokens.len() {
        return Err(bad(format!("{} tokens have {} kinds", tokens.len(), kinds.len())));
    }
    let mut vocabulary = Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if vocabulary.insert(token.clone(), id.into()).is_some() {
            return Err(bad(format!("token {token:?} stands twice in the vocabulary")));
        }
    }
    let added: Vec<Value> = tokens
        .iter()
        .zip(&kinds)
        .enumerate()
        .filter(|(_, (token, kind))| matches!(**kind, UNKNOWN | CONTROL | USER_DEFINED) && !token.is_empty())
        .map(|(id, (token, kind))| {
            json!({"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": *kind != USER_DEFINED})
        })
        .collect();
    let (normalizer, pre_tokenizer, ignore_merges) = cutting(metadata.text("tokenizer.ggml.pre"))?;
    let source = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": byte_level(true),
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": ignore_merges,
            "vocab": vocabulary, "merges": merges},
    })
    .to_string();
    let stops: Vec<u32> = ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"]
        .iter()
        .filter_map(|key| metadata.token(key))
        .collect();
    HuggingFace::new(source, config(metadata, tokens), &stops)
}

/// `tokenizer_config.json`: names of special tokens, and the template.
fn config(metadata: &Metadata, tokens: &[String]) -> Map<String, Value> {
    let mut config = new_config();
    for (name, key) in [
        ("bos_token", "tokenizer.ggml.bos_token_id"),
        ("eos_token", "tokenizer.ggml.eos_token_id"),
        ("pad_token", "tokenizer.ggml.padding_token_id"),
        ("unk_token", "tokenizer.ggml.unknown_token_id"),
    ] {
        let token = metadata.token(key).and_then(|id| tokens.get(usize::try_from(id).ok()?));
        if let Some(token) = token {
            config.insert(name.to_owned(), token.clone().into());
        }
    }
    if let Some(template) = metadata.text("tokenizer.chat_template") {
        config.insert("chat_template".to_owned(), template.into());
    }
    config
}

/// Normaliser, pre-tokenizer, and whether a whole piece that is in the vocabulary skips the merges.
fn cutting(kind: Option<&str>) -> Result<(Value, Value, bool), TrainerError> {
    let pattern = |pattern: &str| {
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
            byte_level(false),
        ]})
    };
    match kind {
        None | Some("default" | "gpt-2") => Ok((Value::Null, byte_level(true), false)),
        Some("smollm") => Ok((
            Value::Null,
            json!({"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": true},
                byte_level(true),
            ]}),
            false,
        )),
        Some("qwen2") => Ok((json!({"type": "NFC"}), pattern(QWEN_2_PATTERN), false)),
        Some("llama-bpe" | "llama3" | "llama-v3") => Ok((Value::Null, pattern(LLAMA_3_PATTERN), true)),
        Some(other) => Err(bad(format!(
            "the pre-tokenizer {other:?} of the GGUF file is unknown; smollm, qwen2, llama-bpe and gpt-2 are not: use the \
             model's Hugging Face folder instead"
        ))),
    }
}

fn byte_level(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex})
}

fn bad(detail: impl Into<String>) -> TrainerError {
    TrainerError::BadCheckpoint(detail.into())
}
