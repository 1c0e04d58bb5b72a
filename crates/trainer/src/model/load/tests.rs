//! Files as they should be, cut, changed and hostile.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use burn::tensor::{Device, Int, Tensor};
use half::{bf16, f16};
use proptest::prelude::{Strategy, any, prop, prop_assert, proptest};
use serde_json::json;

use super::gguf::{GgufFile, MetadataValue};
use super::{gguf_model, load_folder};
use crate::failure::TrainerError;
use crate::model::{Family, Named, Transformer, TransformerConfig, save_folder};

/// Writes GGUF as the format's description says, apart from the reader.
#[derive(Default)]
struct Writer {
    metadata: Vec<u8>,
    entries: u64,
    infos: Vec<u8>,
    tensors: u64,
    data: Vec<u8>,
}

impl Writer {
    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }

    fn entry(&mut self, key: &str, kind: u32, value: &[u8]) {
        Self::text(&mut self.metadata, key);
        self.metadata.extend(kind.to_le_bytes());
        self.metadata.extend(value);
        self.entries += 1;
    }

    fn entry_text(&mut self, key: &str, text: &str) {
        let mut value = Vec::new();
        Self::text(&mut value, text);
        self.entry(key, 8, &value);
    }

    fn entry_u32(&mut self, key: &str, value: u32) {
        self.entry(key, 4, &value.to_le_bytes());
    }

    fn entry_f32(&mut self, key: &str, value: f32) {
        self.entry(key, 6, &value.to_le_bytes());
    }

    fn entry_texts(&mut self, key: &str, texts: &[&str]) {
        let mut value = 8_u32.to_le_bytes().to_vec();
        value.extend((texts.len() as u64).to_le_bytes());
        texts.iter().for_each(|text| Self::text(&mut value, text));
        self.entry(key, 9, &value);
    }

    /// `shape` is row-major; the file lists it the other way round.
    fn tensor(&mut self, name: &str, shape: &[usize], kind: u32, packed: &[u8]) {
        Self::text(&mut self.infos, name);
        self.infos.extend((shape.len() as u32).to_le_bytes());
        shape.iter().rev().for_each(|size| self.infos.extend((*size as u64).to_le_bytes()));
        self.infos.extend(kind.to_le_bytes());
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        self.infos.extend((self.data.len() as u64).to_le_bytes());
        self.data.extend(packed);
        self.tensors += 1;
    }

    fn finish(&self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(self.tensors.to_le_bytes());
        file.extend(self.entries.to_le_bytes());
        file.extend(&self.metadata);
        file.extend(&self.infos);
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(&self.data);
        file
    }
}

fn config() -> TransformerConfig {
    let tiny = TransformerConfig::tiny(12, None, 32);
    TransformerConfig { width: 32, layers: 1, heads: 2, kv_heads: 1, head_dim: 8, feed_forward: 64, ..tiny }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Swaps rows as llama.cpp's converter does: (head, which, pair) to (head, pair, which).
fn neighbours(values: &[f32], heads: usize, head_dim: usize) -> Vec<f32> {
    let width = values.len() / (heads * head_dim);
    let half = head_dim / 2;
    let mut moved = vec![0.0; values.len()];
    for row in 0..heads * head_dim {
        let (head, which, pair) = (row / head_dim, row % head_dim / half, row % half);
        let to = head * head_dim + pair * 2 + which;
        moved[to * width..(to + 1) * width].copy_from_slice(&values[row * width..(row + 1) * width]);
    }
    moved
}

/// A model of the Llama kind as a GGUF file of plain floats.
fn llama_file(config: &TransformerConfig, model: &Transformer) -> Writer {
    let mut writer = Writer::default();
    writer.entry_text("general.architecture", "llama");
    for (key, value) in [
        ("block_count", config.layers),
        ("embedding_length", config.width),
        ("feed_forward_length", config.feed_forward),
        ("attention.head_count", config.heads),
        ("attention.head_count_kv", config.kv_heads),
        ("attention.key_length", config.head_dim),
        ("attention.value_length", config.head_dim),
        ("context_length", config.positions_max),
    ] {
        writer.entry_u32(&format!("llama.{key}"), value as u32);
    }
    writer.entry_f32("llama.rope.freq_base", config.rope_theta as f32);
    writer.entry_f32("llama.attention.layer_norm_rms_epsilon", config.rms_epsilon as f32);
    writer.entry_u32("tokenizer.ggml.eos_token_id", 7);
    writer.entry_texts("tokenizer.ggml.tokens", &["a", "b", "c"]);
    for (name, data) in model.tensors() {
        let shape = data.shape().as_slice().to_vec();
        let mut values: Vec<f32> = data.try_to_vec().unwrap();
        if name.contains("q_proj") {
            values = neighbours(&values, config.heads, config.head_dim);
        } else if name.contains("k_proj") {
            values = neighbours(&values, config.kv_heads, config.head_dim);
        }
        let own = name
            .replace("model.layers.", "blk.")
            .replace("model.embed_tokens", "token_embd")
            .replace("model.norm", "output_norm")
            .replace("lm_head", "output")
            .replace("self_attn.o_proj", "attn_output")
            .replace("self_attn.", "attn_")
            .replace("_proj", "")
            .replace("mlp.", "ffn_")
            .replace("input_layernorm", "attn_norm")
            .replace("post_attention_layernorm", "ffn_norm");
        writer.tensor(&own, &shape, 0, &floats(&values));
    }
    writer
}

#[test]
fn a_llama_file_gives_the_model_that_it_was_made_of() {
    for tied in [true, false] {
        let config = TransformerConfig { tied, eos: vec![7], ..config() };
        let model = Transformer::init(&config, 3, &Device::flex()).unwrap();
        let mut file = GgufFile::read(Cursor::new(llama_file(&config, &model).finish())).unwrap();
        let read = gguf_model::read_model(&mut file, &Device::flex()).unwrap();
        assert_eq!(read.tensors(), model.tensors());
        // The epsilon of the file is f32.
        let epsilon = f64::from(config.rms_epsilon as f32);
        assert_eq!(*read.config(), TransformerConfig { rms_epsilon: epsilon, ..config });
        assert_eq!(file.metadata().texts("tokenizer.ggml.tokens").unwrap(), ["a", "b", "c"]);
    }
}

#[test]
fn blocks_of_every_kind_are_read_where_they_lie() {
    let mut writer = Writer::default();
    writer.tensor("plain", &[2, 3], 0, &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    writer.tensor("half", &[2], 1, &[f16::from_f32(0.5).to_le_bytes(), f16::from_f32(-2.0).to_le_bytes()].concat());
    writer.tensor("brain", &[1], 30, &bf16::from_f32(3.0).to_le_bytes());
    let scale = f16::from_f32(0.25).to_le_bytes();
    // x = d (q - 8): low nibbles 9 then high nibbles 6.
    writer.tensor("q4_0", &[32], 2, &[scale.as_slice(), &[0x69; 16]].concat());
    // x = d q + m.
    writer.tensor(
        "q4_1",
        &[32],
        3,
        &[scale, f16::from_f32(1.0).to_le_bytes()].concat().into_iter().chain([0x21; 16]).collect::<Vec<_>>(),
    );
    // Two rows of one block: x = d q.
    let row = |q: i8| [scale.as_slice(), &[q.cast_unsigned(); 32]].concat();
    writer.tensor("q8_0", &[2, 32], 8, &[row(-4), row(127)].concat());
    let mut file = GgufFile::read(Cursor::new(writer.finish())).unwrap();
    assert_eq!(file.tensors()["plain"].shape, [2, 3]);
    assert_eq!(file.values("plain").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(file.values("half").unwrap(), [0.5, -2.0]);
    assert_eq!(file.values("brain").unwrap(), [3.0]);
    assert_eq!(file.values("q4_0").unwrap(), [[0.25_f32; 16], [-0.5; 16]].concat());
    assert_eq!(file.values("q4_1").unwrap(), [[1.25_f32; 16], [1.5; 16]].concat());
    assert_eq!(file.values("q8_0").unwrap(), [[-1.0_f32; 32], [31.75; 32]].concat());
    assert!(file.values("none").is_err());
}

#[test]
fn metadata_of_every_type_are_read() {
    let mut writer = Writer::default();
    writer.entry("u8", 0, &[200]);
    writer.entry("i8", 1, &[0xff]);
    writer.entry("i16", 3, &(-5_i16).to_le_bytes());
    writer.entry("f64", 12, &2.5_f64.to_le_bytes());
    writer.entry("bool", 7, &[1]);
    writer.entry("u64", 10, &u64::MAX.to_le_bytes());
    let list =
        [5_u32.to_le_bytes().as_slice(), &2_u64.to_le_bytes(), &1_i32.to_le_bytes(), &(-3_i32).to_le_bytes()].concat();
    writer.entry("i32s", 9, &list);
    let file = GgufFile::read(Cursor::new(writer.finish())).unwrap();
    let metadata = file.metadata();
    assert_eq!(metadata.count("u8"), Some(200));
    assert_eq!((metadata.get("i8"), metadata.count("i8")), (Some(&MetadataValue::Signed(-1)), None));
    assert_eq!(metadata.get("i16"), Some(&MetadataValue::Signed(-5)));
    assert_eq!(metadata.float("f64"), Some(2.5));
    assert_eq!(metadata.bool("bool"), Some(true));
    assert_eq!((metadata.count("u64"), metadata.token("u64")), (Some(u64::MAX), None));
    assert_eq!(metadata.integers("i32s"), Some(vec![1, -3]));
}

#[test]
fn hostile_headers_are_refused_with_the_reason() {
    let header = |tensors: u64, entries: u64, rest: &[u8]| {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(tensors.to_le_bytes());
        file.extend(entries.to_le_bytes());
        file.extend(rest);
        file
    };
    let tensor = |sizes: &[u64], kind: u32, offset: u64| {
        let mut rest = 1_u64.to_le_bytes().to_vec();
        rest.push(b't');
        rest.extend((sizes.len() as u32).to_le_bytes());
        sizes.iter().for_each(|size| rest.extend(size.to_le_bytes()));
        rest.extend(kind.to_le_bytes());
        rest.extend(offset.to_le_bytes());
        header(1, 0, &rest)
    };
    let mut twice = Writer::default();
    twice.tensor("a", &[1], 0, &[0; 4]);
    twice.tensor("a", &[1], 0, &[0; 4]);
    let mut sharing = Writer::default();
    sharing.tensor("a", &[8], 0, &[0; 32]);
    sharing.tensor("b", &[8], 0, &[0; 32]);
    let mut sharing = sharing.finish();
    let second = sharing.len() - 64 - 8;
    // The offset of the second tensor stands at the end of the infos, which padding follows.
    let at = (0..=second).rev().find(|at| sharing[*at..at + 8] == 32_u64.to_le_bytes()).unwrap();
    sharing[at] = 16;
    let cases = [
        (b"GGML".to_vec(), "GGUF"),
        (b"GGUF\x01\0\0\0".to_vec(), "version 1"),
        (b"GG".to_vec(), "truncated"),
        (header(u64::MAX, 0, &[]), "tensors"),
        (header(0, u64::MAX, &[]), "metadata entries"),
        (header(0, 1, &u64::MAX.to_le_bytes()), "bytes of a name"),
        (tensor(&[u64::MAX, 2], 0, 0), "overflows"),
        (tensor(&[0], 0, 0), "empty"),
        (tensor(&[1 << 40], 0, 0), "beyond its end"),
        (tensor(&[4], 0, u64::MAX), "beyond its end"),
        (tensor(&[33], 8, 0), "no multiple of 32"),
        (tensor(&[32], 12, 0), "type 12"),
        (tensor(&[1; 5], 0, 0), "dimensions"),
        (twice.finish(), "twice"),
        (sharing, "share bytes"),
    ];
    for (file, expected) in cases {
        let error = GgufFile::read(Cursor::new(file)).unwrap_err();
        assert!(matches!(error, TrainerError::BadCheckpoint(_)));
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_gguf_file_whose_tensors_do_not_fit_lists_them_all() {
    let model = Transformer::init(&config(), 3, &Device::flex()).unwrap();
    let mut writer = llama_file(&TransformerConfig { layers: 2, ..config() }, &model);
    writer.tensor("blk.0.attn_q.bias", &[16], 0, &[0; 64]);
    let mut file = GgufFile::read(Cursor::new(writer.finish())).unwrap();
    let error = gguf_model::read_model(&mut file, &Device::flex()).unwrap_err();
    let TrainerError::Tensors(faults) = error else { panic!("{error}") };
    assert_eq!(faults.len(), 10, "{faults:?}");
    assert!(faults.contains(&"model.layers.0.self_attn.q_proj.bias [16] is unexpected".to_owned()));
    assert!(faults.contains(&"model.layers.1.mlp.down_proj.weight [32, 64] is missing".to_owned()));
}

/// A valid file, then some bytes changed and the end cut off.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let model = Transformer::init(&config(), 3, &Device::flex()).unwrap();
    let whole = llama_file(&config(), &model).finish();
    let header = 1_500.min(whole.len());
    let changes = prop::collection::vec((0..header, any::<u8>()), 0..8);
    (changes, 0..=whole.len()).prop_map(move |(changes, keep)| {
        let mut file = whole.clone();
        for (at, byte) in changes {
            file[at] = byte;
        }
        // Half of the files stay whole, so that what follows the header is reached too.
        if keep % 2 == 0 {
            file.truncate(keep);
        }
        file
    })
}

proptest! {
    #[test]
    fn damaged_gguf_files_never_panic_nor_hold_more_than_they_are_long(bytes in damaged()) {
        let length = bytes.len();
        if let Ok(mut file) = GgufFile::read(Cursor::new(bytes)) {
            let names: Vec<String> = file.tensors().keys().cloned().collect();
            let mut values = 0;
            for name in names {
                values += file.values(&name).unwrap().len();
            }
            // The tightest packing is 18 bytes for 32 values.
            prop_assert!(values * 18 <= length * 32);
            let _ = gguf_model::read_model(&mut file, &Device::flex());
        }
    }
}

fn logits(model: &Transformer) -> Vec<f32> {
    let states = model.states(Tensor::<2, Int>::from_ints([[1, 2, 3, 4]], &model.device()));
    model.logits(states.squeeze_dim(0)).into_data().try_to_vec().unwrap()
}

#[test]
fn a_saved_folder_is_read_back_to_the_bit() {
    for kind in [Family::Llama, Family::Qwen2, Family::Qwen3] {
        let config = TransformerConfig {
            kind,
            qkv_bias: kind == Family::Qwen2,
            qk_norm: kind == Family::Qwen3,
            tied: kind == Family::Llama,
            ..config()
        };
        let folder = tempfile::tempdir().unwrap();
        let model = Transformer::init(&config, 9, &Device::flex()).unwrap();
        save_folder(&model, folder.path()).unwrap();
        let (read, tokenizer) = load_folder(folder.path(), &Device::flex()).unwrap();
        assert_eq!((read.tensors(), logits(&read)), (model.tensors(), logits(&model)));
        assert_eq!(*read.config(), config);
        assert!(tokenizer.is_none());
    }
}

/// Writes some tensors as safetensors by hand.
fn write_shard(path: &Path, kind: &str, tensors: &[(String, Vec<usize>, Vec<u8>)]) {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, shape, bytes) in tensors {
        let start = data.len();
        data.extend(bytes);
        header.insert(name.clone(), json!({"dtype": kind, "shape": shape, "data_offsets": [start, data.len()]}));
    }
    let header = serde_json::to_vec(&header).unwrap();
    let file = [(header.len() as u64).to_le_bytes().as_slice(), &header, &data].concat();
    std::fs::write(path, file).unwrap();
}

#[test]
fn shards_of_different_types_make_one_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = Transformer::init(&config(), 9, &Device::flex()).unwrap();
    let mut map = BTreeMap::new();
    let mut shards: [Vec<_>; 2] = [Vec::new(), Vec::new()];
    for (index, (name, data)) in model.tensors().into_iter().enumerate() {
        let values = data.try_to_vec::<f32>().unwrap();
        let bytes: Vec<u8> = if index % 2 == 0 {
            values.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect()
        } else {
            values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect()
        };
        map.insert(name.clone(), format!("part-{}.safetensors", index % 2));
        shards[index % 2].push((name, data.shape().as_slice().to_vec(), bytes));
    }
    write_shard(&folder.path().join("part-0.safetensors"), "F16", &shards[0]);
    write_shard(&folder.path().join("part-1.safetensors"), "BF16", &shards[1]);
    std::fs::write(folder.path().join("config.json"), config().to_hugging_face().to_string()).unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    let index = folder.path().join("model.safetensors.index.json");
    std::fs::write(&index, json!({"weight_map": map}).to_string()).unwrap();
    let (read, tokenizer) = load_folder(folder.path(), &Device::flex()).unwrap();
    assert!(tokenizer.is_some());
    for (at, ((_, read), (_, written))) in read.tensors().into_iter().zip(model.tensors()).enumerate() {
        for (read, written) in read.iter::<f32>().zip(written.iter::<f32>()) {
            let expected = if at % 2 == 0 { f16::from_f32(written).to_f32() } else { bf16::from_f32(written).to_f32() };
            assert!((read - expected).abs() < f32::EPSILON);
        }
    }
    map.insert("other".to_owned(), "../part-0.safetensors".to_owned());
    std::fs::write(&index, json!({"weight_map": map}).to_string()).unwrap();
    assert!(load_folder(folder.path(), &Device::flex()).unwrap_err().to_string().contains("no file name"));
}

#[test]
fn cut_and_misfitting_safetensors_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |expected: &str| {
        let error = load_folder(folder.path(), &Device::flex()).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    };
    refused("config.json");
    let model = Transformer::init(&config(), 9, &Device::flex()).unwrap();
    save_folder(&model, folder.path()).unwrap();
    let path = folder.path().join("model.safetensors");
    let whole = std::fs::read(&path).unwrap();
    for keep in [0, 4, 8, 100, whole.len() - 1] {
        std::fs::write(&path, &whole[..keep]).unwrap();
        refused("truncated");
    }
    std::fs::write(&path, [u64::MAX.to_le_bytes().as_slice(), &whole[8..]].concat()).unwrap();
    refused("no safetensors file");
    let tensor = |shape: Vec<usize>, bytes: usize| vec![("model.norm.weight".to_owned(), shape, vec![0; bytes])];
    write_shard(&path, "F32", &tensor(vec![32], 64));
    refused("do not fit its shape");
    write_shard(&path, "F32", &tensor(vec![usize::MAX, usize::MAX], 0));
    refused("do not fit its shape");
    write_shard(&path, "I64", &tensor(vec![32], 256));
    refused("I64");
    write_shard(&path, "F32", &tensor(vec![16], 64));
    refused("model.norm.weight has the shape [16], expected [32]");
    refused("model.layers.0.self_attn.q_proj.weight [16, 32] is missing");
    std::fs::remove_file(&path).unwrap();
    refused("holds neither");
}
