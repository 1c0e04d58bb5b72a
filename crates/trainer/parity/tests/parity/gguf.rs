//! GGUF files written by the other side: packed values, and the order of rotary pairs in Llama's.

use std::fs::File;
use std::path::Path;

use burn::tensor::{Device, Int, Tensor};
use candle_core::quantized::gguf_file::{Content, Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device as CandleDevice, Tensor as CandleTensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use palestra_trainer::model::load::gguf::GgufFile;
use palestra_trainer::model::load_gguf;

use crate::values::values;

/// Largest difference between logits.
const LOGIT_DIFFERENCE_MAX: f32 = 1e-4;
const VOCABULARY: usize = 37;

/// Writes a Llama of two layers: width 32, heads 4 of 8, 2 of them answering, feed-forward 64.
fn write_llama(path: &Path, kind: GgmlDType, seed: u64) {
    let number = |value: u32| Value::U32(value);
    let metadata = [
        ("general.architecture", Value::String("llama".to_owned())),
        ("llama.attention.head_count", number(4)),
        ("llama.attention.head_count_kv", number(2)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.block_count", number(2)),
        ("llama.context_length", number(128)),
        ("llama.embedding_length", number(32)),
        ("llama.feed_forward_length", number(64)),
        ("llama.rope.dimension_count", number(8)),
        ("llama.rope.freq_base", Value::F32(50_000.0)),
    ];
    let mut shapes =
        vec![("token_embd.weight".to_owned(), vec![VOCABULARY, 32]), ("output_norm.weight".to_owned(), vec![32])];
    for layer in 0..2 {
        let parts: [(&str, &[usize]); 9] = [
            ("attn_q", &[32, 32]),
            ("attn_k", &[16, 32]),
            ("attn_v", &[16, 32]),
            ("attn_output", &[32, 32]),
            ("ffn_gate", &[64, 32]),
            ("ffn_up", &[64, 32]),
            ("ffn_down", &[32, 64]),
            ("attn_norm", &[32]),
            ("ffn_norm", &[32]),
        ];
        shapes.extend(parts.map(|(part, shape)| (format!("blk.{layer}.{part}.weight"), shape.to_vec())));
    }
    let tensors: Vec<(String, QTensor)> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let data = CandleTensor::from_vec(values(seed, &name, &shape), shape.clone(), &CandleDevice::Cpu).unwrap();
            // Norms stay plain, as converters leave them.
            let kind = if shape.len() == 1 { GgmlDType::F32 } else { kind };
            (name, QTensor::quantize(&data, kind).unwrap())
        })
        .collect();
    let metadata: Vec<_> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    write(&mut File::create(path).unwrap(), &metadata, &tensors).unwrap();
}

fn content(path: &Path) -> (File, Content) {
    let mut file = File::open(path).unwrap();
    let content = Content::read(&mut file).unwrap();
    (file, content)
}

#[test]
fn packed_values_are_unpacked_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    for kind in [GgmlDType::F32, GgmlDType::F16, GgmlDType::BF16, GgmlDType::Q8_0, GgmlDType::Q4_0, GgmlDType::Q4_1] {
        write_llama(&path, kind, 3);
        let mut ours = GgufFile::open(&path).unwrap();
        let (mut file, theirs) = content(&path);
        assert_eq!(ours.tensors().len(), theirs.tensor_infos.len());
        for name in theirs.tensor_infos.keys() {
            let tensor = theirs.tensor(&mut file, name, &CandleDevice::Cpu).unwrap();
            let tensor = tensor.dequantize(&CandleDevice::Cpu).unwrap();
            assert_eq!(ours.tensors()[name].shape, tensor.dims(), "{name} as {kind:?}");
            let expected = tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert_eq!(ours.values(name).unwrap(), expected, "{name} as {kind:?}");
        }
    }
}

#[test]
fn a_llama_file_answers_the_same_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let tokens = [1_u32, 30, 7, 7, 0, 36, 12, 5];
    for seed in 0..3 {
        write_llama(&path, GgmlDType::F32, seed);
        let (mut file, theirs) = content(&path);
        let mut theirs = ModelWeights::from_gguf(theirs, &mut file, &CandleDevice::Cpu).unwrap();
        let input = CandleTensor::new(&tokens, &CandleDevice::Cpu).unwrap().unsqueeze(0).unwrap();
        let theirs = theirs.forward(&input, 0).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let (ours, _) = load_gguf(&path, &Device::flex()).unwrap();
        let states = ours.states(Tensor::<2, Int>::from_ints([tokens.map(|token| token as i32)], &Device::flex()));
        let last = states.narrow(1, tokens.len() - 1, 1).squeeze_dim(1);
        let ours: Vec<f32> = ours.logits(last).into_data().try_to_vec().unwrap();
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((ours - theirs).abs() < LOGIT_DIFFERENCE_MAX, "{ours} and {theirs}");
        }
    }
}
