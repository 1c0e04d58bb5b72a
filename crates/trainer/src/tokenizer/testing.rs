//! A small vocabulary learnt from a corpus, in the forms in which models bring theirs; for tests here and of chats.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tokenizers::models::bpe::BpeTrainerBuilder;
use tokenizers::{AddedToken, TokenizerBuilder};

use super::Tokenizer;
use crate::model::load::gguf::{Metadata, MetadataArray, MetadataValue};

/// Texts of many kinds.
pub(crate) fn corpus() -> [&'static str; 14] {
    [
        "The quick brown fox jumps over the lazy dog. The dog isn't amused; they'll SLEEP, we've seen it'S.",
        "Zahlen: 3.14159, 2024-07-26, 1000000, 7½, ٣٤٥, Ⅷ and 12345678901234567890",
        "   leading,  double,\ttabs\t\tand trailing   \n\n\n  new   lines \r\n end  ",
        "naïve café Ünïcödé straße — “quotes” … e\u{301}te\u{301} (decomposed)",
        "日本語のテキスト、中文文本，한국어 텍스트. Привет, мир! नमस्ते दुनिया שלום עולם",
        "🙂👩‍👩‍👧‍👦🏳️‍🌈 emoji🇩🇪 and \u{200B}zero width\u{FEFF}",
        "fn main() {\n    let x: Vec<u32> = (0..10).map(|i| i * 2).collect();\n    println!(\"{x:?}\");\n}\n",
        "{\"name\": \"move\", \"arguments\": {\"direction\": \"up\", \"steps\": [1, 2, 3]}}",
        "<|im_start|>user\nhello<|im_end|>\n<tool_call>x</tool_call><|im_start|>",
        "a",
        "",
        " ",
        "\0\u{1}\u{7f}\u{85}\u{2028}\u{3000}x",
        "https://example.org/path?query=1&other=%20#fragment user@example.org C:\\folder\\file.txt",
    ]
}

/// A chat template without tools, with a default system message and one loop.
pub(crate) const SMOL_LIKE: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe brief<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// A tool in OpenAI's form.
pub(crate) fn weather() -> Value {
    json!({"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}})
}

/// A vocabulary of 600 tokens, with three special ones and two plain added ones.
pub(crate) static LEARNT: LazyLock<Tokenizer> = LazyLock::new(|| learn("smollm"));

/// The `tokenizer.json` that a model with this pre-tokenizer would have, written apart from how GGUF files are read.
fn pipeline(pre: &str) -> (Value, Value) {
    let level = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": use_regex});
    let split = |digits: &str| {
        let pattern = format!(
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{{L}}\\p{{N}}]?\\p{{L}}+|{digits}| ?[^\\s\\p{{L}}\\p{{N}}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
        );
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false}, level(false)]})
    };
    match pre {
        "smollm" => (
            Value::Null,
            json!({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, level(true)]}),
        ),
        "qwen2" => (json!({"type": "NFC"}), split("\\p{N}")),
        "llama-bpe" => (Value::Null, split("\\p{N}{1,3}")),
        _ => (Value::Null, level(true)),
    }
}

/// Learns merges from the corpus under a pre-tokenizer.
pub(crate) fn learn(pre: &str) -> Tokenizer {
    let (normalizer, pre_tokenizer) = pipeline(pre);
    let frame = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer, "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": {}, "merges": [], "ignore_merges": pre == "llama-bpe"},
    });
    let frame = tokenizers::Tokenizer::from_bytes(frame.to_string()).expect("a frame");
    let special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(|name| AddedToken::from(name, true));
    let mut trainer = BpeTrainerBuilder::new()
        .vocab_size(600)
        .show_progress(false)
        .special_tokens(special.to_vec())
        .initial_alphabet(tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet().into_iter().collect())
        .build();
    let tokenizers::models::ModelWrapper::BPE(model) = frame.get_model().clone() else { panic!("the frame is BPE") };
    let mut tokenizer = TokenizerBuilder::new()
        .with_model(model)
        .with_normalizer(frame.get_normalizer().cloned())
        .with_pre_tokenizer(frame.get_pre_tokenizer().cloned())
        .with_post_processor(None::<tokenizers::PostProcessorWrapper>)
        .with_decoder(frame.get_decoder().cloned())
        .build()
        .expect("all parts are there");
    tokenizer.train(&mut trainer, corpus().into_iter()).expect("merges are learnt");
    tokenizer.add_tokens(&["<tool_call>", "</tool_call>"].map(|name| AddedToken::from(name, false).normalized(false)));
    let source = tokenizer.to_string(false).expect("it can be written");
    let config = r#"{"bos_token":"<|im_start|>","eos_token":"<|im_end|>"}"#;
    Tokenizer::from_json(&source, Some(config)).expect("it can be read")
}

/// A tokenizer with another chat template.
pub(crate) fn with_template(template: &str) -> Tokenizer {
    give_template(&LEARNT, template)
}

/// The same vocabulary with a chat template.
pub(crate) fn give_template(tokenizer: &Tokenizer, template: &str) -> Tokenizer {
    let config = json!({"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>", "chat_template": template});
    Tokenizer::from_json(&source(tokenizer).to_string(), Some(&config.to_string())).expect("it can be read")
}

/// The `tokenizer.json` of a tokenizer.
pub(crate) fn source(tokenizer: &Tokenizer) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    tokenizer.save(folder.path()).expect("written");
    let text = std::fs::read_to_string(folder.path().join("tokenizer.json")).expect("written");
    serde_json::from_str(&text).expect("JSON")
}

/// The same vocabulary as the metadata of a GGUF file.
pub(crate) fn metadata(tokenizer: &Tokenizer, pre: &str) -> Metadata {
    let source = source(tokenizer);
    let mut tokens = vec![String::new(); tokenizer.vocab_size()];
    let mut kinds = vec![1_i64; tokens.len()];
    for (token, id) in source["model"]["vocab"].as_object().expect("a vocabulary") {
        tokens[id.as_u64().expect("an id") as usize] = token.clone();
    }
    for added in source["added_tokens"].as_array().expect("a list") {
        let id = added["id"].as_u64().expect("an id") as usize;
        tokens[id] = added["content"].as_str().expect("a text").to_owned();
        kinds[id] = if added["special"] == true { 3 } else { 4 };
    }
    let merges = source["model"]["merges"].as_array().expect("a list").iter().map(|merge| match merge.as_array() {
        Some(pair) => format!("{} {}", pair[0].as_str().expect("a text"), pair[1].as_str().expect("a text")),
        None => merge.as_str().expect("a text").to_owned(),
    });
    let id = |name: &str| MetadataValue::Unsigned(tokenizer.id_of(name).expect(name).into());
    let text = |text: &str| MetadataValue::Text(text.to_owned());
    let merges = MetadataValue::Array(MetadataArray::Texts(merges.collect()));
    let entries = [
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text(pre)),
        ("tokenizer.ggml.tokens", MetadataValue::Array(MetadataArray::Texts(tokens))),
        ("tokenizer.ggml.token_type", MetadataValue::Array(MetadataArray::Signed(kinds))),
        ("tokenizer.ggml.merges", merges),
        ("tokenizer.ggml.bos_token_id", id("<|im_start|>")),
        ("tokenizer.ggml.eos_token_id", id("<|im_end|>")),
        ("tokenizer.chat_template", text("{{ bos_token }}")),
    ];
    Metadata::new(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<BTreeMap<_, _>>())
}
