//! Known encodings, both ways of reading one tokenizer, and texts that come in pieces.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::*;
use crate::model::load::gguf::{Metadata, MetadataValue};
use crate::tokenizer::testing::{LEARNT, corpus, learn, metadata};

#[test]
fn bytes_are_tokens_and_no_text_is_a_special_one() {
    let tokenizer = Tokenizer::bytes();
    let text = "aß<|end|>";
    let tokens = tokenizer.encode(text).expect("bytes");
    assert_eq!(tokens[..3], [97, 0xC3, 0x9F]);
    assert!(tokens.iter().all(|token| *token < 256));
    assert_eq!(tokenizer.decode(&tokens), text);
    assert_eq!(tokenizer.decode(&[BYTE_BOS, BYTE_USER, 104, 105, BYTE_END, 263]), "hi");
    assert_eq!(tokenizer.decode(&[0xC3]), "\u{FFFD}");
    assert_eq!((tokenizer.vocab_size(), tokenizer.eos(), tokenizer.bos()), (264, &[257][..], Some(256)));
    assert_eq!((tokenizer.id_of("<|tool|>"), tokenizer.id_of("Ġ"), tokenizer.id_of("ab")), (Some(261), Some(32), None));
    assert!(tokenizer.is_special(BYTE_PAD) && !tokenizer.is_special(255));
}

#[test]
fn the_tokenizer_of_bytes_is_read_back_and_others_read_it_too() {
    let folder = tempdir().expect("a folder");
    Tokenizer::bytes().save(folder.path()).expect("written");
    assert!(Tokenizer::from_folder(folder.path()).expect("read").is_bytes());
    std::fs::remove_file(folder.path().join(BYTE_FILE)).expect("removed");
    let other = Tokenizer::from_folder(folder.path()).expect("a tokenizer.json");
    assert!(!other.is_bytes());
    for text in corpus() {
        assert_eq!(other.encode(text).expect(text), Tokenizer::bytes().encode(text).expect(text), "{text}");
    }
    assert_eq!((other.eos(), other.bos(), other.vocab_size()), (&[BYTE_END][..], Some(BYTE_BOS), 263));
    assert_eq!(other.encode("<|user|>a<|end|>").expect("special"), [BYTE_USER, 97, BYTE_END]);
}

#[test]
fn merges_and_special_tokens_encode_as_worked_out_by_hand() {
    // h e l o and a space, then the merges l+l, h+e, he+ll, hell+o, Ġ+hello.
    let pieces = ["h", "e", "l", "o", "Ġ", "ll", "he", "hell", "hello", "Ġhello"];
    let vocabulary: Value =
        pieces.iter().enumerate().map(|(id, piece)| ((*piece).to_owned(), Value::from(id))).collect();
    let source = json!({
        "version": "1.0", "normalizer": null, "post_processor": null,
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}, "padding": null,
        "added_tokens": [
            {"id": 10, "content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
            {"id": 11, "content": "<call>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false},
        ],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": ["l l", "h e", "he ll", "hell o", "Ġ hello"]},
    })
    .to_string();
    let config = r#"{"eos_token":{"content":"<|end|>"},"chat_template":[{"name":"other","template":"b"},{"name":"default","template":"a"}]}"#;
    let tokenizer = Tokenizer::from_json(&source, Some(config)).expect("a tokenizer");
    assert_eq!(
        tokenizer.encode("hello hello<|end|>ello<call>").expect("known"),
        [8, 9, 10, 1, 5, 3, 11],
        "not cut to 2"
    );
    assert_eq!(tokenizer.decode(&[8, 9, 10, 1, 5, 3, 11, 99]), "hello helloello<call>");
    assert_eq!(tokenizer.token_bytes(9), b" hello");
    assert_eq!((tokenizer.eos(), tokenizer.special_names()), (&[10][..], &["<|end|>".to_owned()][..]));
    assert_eq!(tokenizer.chat_template(), Some("a"));
    assert!(tokenizer.is_special(10) && !tokenizer.is_special(11));
    assert_eq!(tokenizer.vocab_size(), 12);
}

#[test]
fn a_tokenizer_from_gguf_equals_the_same_models_tokenizer_file() {
    for pre in ["smollm", "qwen2", "llama-bpe", "gpt-2"] {
        let file = learn(pre);
        let gguf = Tokenizer::from_gguf(&metadata(&file, pre)).expect(pre);
        assert_eq!(gguf.vocab_size(), file.vocab_size());
        for text in corpus() {
            let tokens = gguf.encode(text).expect(text);
            assert_eq!(tokens, file.encode(text).expect(text), "{pre}: {text:?}");
            if pre != "qwen2" && !text.contains("<|") {
                assert_eq!(gguf.decode(&tokens), text, "{pre}");
            }
        }
        assert_eq!(gguf.eos(), &[gguf.id_of("<|im_end|>").expect("it is in the vocabulary")], "{pre}");
        assert_eq!(gguf.chat_template(), Some("{{ bos_token }}"));
    }
}

#[test]
fn saved_tokenizers_are_read_back_equal() {
    let folder = tempdir().expect("a folder");
    let tokenizer = Tokenizer::from_gguf(&metadata(&learn("qwen2"), "qwen2")).expect("a tokenizer");
    tokenizer.save(folder.path()).expect("written");
    let back = Tokenizer::from_folder(folder.path()).expect("read");
    for text in corpus() {
        assert_eq!(back.encode(text).expect(text), tokenizer.encode(text).expect(text));
    }
    assert_eq!(
        (back.eos(), back.bos(), back.chat_template()),
        (tokenizer.eos(), tokenizer.bos(), tokenizer.chat_template())
    );
    let config: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("tokenizer_config.json")).expect("written"))
            .expect("JSON");
    assert_eq!(config["tokenizer_class"], "PreTrainedTokenizerFast");
    std::fs::write(folder.path().join("chat_template.jinja"), "newer").expect("written");
    std::fs::write(folder.path().join("generation_config.json"), r#"{"eos_token_id":[0,2]}"#).expect("written");
    let newer = Tokenizer::from_folder(folder.path()).expect("read");
    assert_eq!(newer.chat_template(), Some("newer"));
    assert!(newer.eos().contains(&0) && newer.eos().contains(&2));
}

#[test]
fn broken_tokenizers_are_refused_with_a_reason() {
    let folder = tempdir().expect("a folder");
    let refusal = |result: Result<Tokenizer, TrainerError>| match result {
        Err(TrainerError::BadCheckpoint(detail)) => detail,
        other => panic!("expected a refusal, got {other:?}"),
    };
    assert!(refusal(Tokenizer::from_folder(folder.path())).contains("no tokenizer.json"));
    std::fs::write(folder.path().join("tokenizer.json"), "{\"model\":").expect("written");
    assert!(refusal(Tokenizer::from_folder(folder.path())).contains("cannot be read"));
    let entries = |changes: &[(&str, MetadataValue)]| {
        let whole = metadata(&learn("smollm"), "smollm");
        let mut entries: BTreeMap<String, MetadataValue> =
            whole.keys().filter_map(|key| Some((key.to_owned(), whole.get(key)?.clone()))).collect();
        for (key, value) in changes {
            entries.insert((*key).to_owned(), value.clone());
        }
        Metadata::new(entries)
    };
    let text = |text: &str| MetadataValue::Text(text.to_owned());
    let texts = |texts: &[&str]| {
        MetadataValue::Array(crate::model::load::gguf::MetadataArray::Texts(
            texts.iter().map(|text| (*text).to_owned()).collect(),
        ))
    };
    for (changes, reason) in [
        (&[("tokenizer.ggml.model", text("llama"))][..], "of the kind \"llama\""),
        (&[("tokenizer.ggml.pre", text("tekken"))], "pre-tokenizer \"tekken\""),
        (&[("tokenizer.ggml.tokens", texts(&["a"]))], "1 tokens have"),
        (&[("tokenizer.ggml.merges", texts(&["zz qq"]))], "cannot be read"),
        (&[("tokenizer.ggml.merges", text("none"))], "merges is missing"),
    ] {
        let detail = refusal(Tokenizer::from_gguf(&entries(changes)));
        assert!(detail.contains(reason), "{detail}");
    }
    assert!(refusal(Tokenizer::from_gguf(&Metadata::default())).contains("no tokenizer"));
}

#[test]
fn a_character_in_several_tokens_comes_out_whole() {
    let tokenizer = Tokenizer::bytes();
    let mut stream = tokenizer.stream();
    let pieces: Vec<String> =
        [0x61, 0xF0, 0x9F, 0x99, 0x82, BYTE_END, 0xFF, 0xC3].map(|token| stream.push(token)).into();
    assert_eq!(pieces, ["a", "", "", "", "🙂", "", "\u{FFFD}", ""]);
    assert_eq!(stream.finish(), "\u{FFFD}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_survives_bytes(text in any::<String>()) {
        let tokenizer = Tokenizer::bytes();
        let tokens = tokenizer.encode(&text).expect("bytes");
        prop_assert_eq!(tokenizer.decode(&tokens), text);
    }

    #[test]
    fn any_text_survives_pair_encoding_and_streams_like_it_decodes(text in any::<String>()) {
        let tokens = LEARNT.encode(&text).expect("bytes are in the vocabulary");
        prop_assert_eq!(&LEARNT.decode(&tokens), &text);
        let mut stream = LEARNT.stream();
        let streamed: String = tokens.iter().map(|token| stream.push(*token)).collect();
        prop_assert_eq!(streamed + &stream.finish(), text);
    }

    #[test]
    fn any_tokens_stream_like_they_decode(tokens in prop::collection::vec(0_u32..264, 0..40)) {
        let tokenizer = Tokenizer::bytes();
        let mut stream = tokenizer.stream();
        let streamed: String = tokens.iter().map(|token| stream.push(*token)).collect();
        prop_assert_eq!(streamed + &stream.finish(), tokenizer.decode(&tokens));
    }
}
