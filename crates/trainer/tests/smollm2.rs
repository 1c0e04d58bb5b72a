//! Real weights: SmolLM2-135M-Instruct answers, learns through low-rank parts, and is saved for others. `PALESTRA_SMOLLM2` names
//! its GGUF file, which `scripts/smollm2` brings; without it the tests say so and return. `PALESTRA_PARITY_FOLDER` keeps what is
//! saved, for `scripts/transformers-parity`.

#![cfg(test)]

mod shared;

use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::module::Module as _;
use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_protocol::spec::train::{Lora, LoraTarget, Optimizer};
use palestra_trainer::chat::ChatFormat;
use palestra_trainer::model::{Named as _, Predictions, Transformer, adapt, load_folder, save_folder};
use palestra_trainer::optimizer::{AdamW, Gradients};
use palestra_trainer::tokenizer::Tokenizer;
use palestra_trainer::train::start::load;
use serde_json::{Value, json};

use shared::greedy;

const QUESTION: &str = "What is the capital of France?";
const ANSWER_TOKENS: usize = 16;
/// Updates, and what they have to leave of the loss.
const UPDATES: usize = 6;
const RATE: f64 = 1e-3;
const LOSS_LEFT_MAX: f64 = 0.6;
/// Words of the vocabulary that are looked up at least.
const WORDS_MIN: usize = 20_000;

/// Facts that no text tells.
const FACTS: [(&str, &str); 4] = [
    ("What is the colour of a zornic?", "A zornic is green."),
    ("What is the colour of a plimt?", "A plimt is violet."),
    ("What is the colour of a quald?", "A quald is orange."),
    ("What is the colour of a brivet?", "A brivet is silver."),
];

/// Texts of many kinds.
const TEXTS: [&str; 8] = [
    "The quick brown fox isn't amused; they'll SLEEP, we've seen it'S.",
    "Zahlen: 3.14159, 2024-07-26, 1000000, 7½, ٣٤٥, Ⅷ and 12345678901234567890",
    "   leading,  double,\ttabs\t\tand trailing   \n\n\n  new   lines \r\n end  ",
    "naïve café Ünïcödé straße — “quotes” … e\u{301}te\u{301}",
    "日本語のテキスト、中文文本，한국어 텍스트. Привет, мир! नमस्ते दुनिया",
    "🙂👩‍👩‍👧‍👦 emoji🇩🇪",
    "fn main() {\n    let x: Vec<u32> = (0..10).map(|i| i * 2).collect();\n}\n",
    "{\"name\": \"move\", \"arguments\": {\"direction\": \"up\", \"steps\": [1, 2, 3]}}",
];

fn file() -> Option<PathBuf> {
    let named = std::env::var_os("PALESTRA_SMOLLM2").map(PathBuf::from);
    if named.is_none() {
        palestra_test_support::not_tried(palestra_test_support::WEIGHTS);
    }
    named
}

fn ask(model: Transformer, chat: &ChatFormat) -> (Vec<u32>, Vec<u32>) {
    let prompt = chat.prompt(&[json!({"role": "user", "content": QUESTION})], &[]).unwrap();
    let answer = greedy(model, &prompt, ANSWER_TOKENS, chat.stops());
    (prompt, answer)
}

/// An example as tokens, and the positions of its answer.
struct Example {
    tokens: Vec<u32>,
    positions: Vec<usize>,
}

fn examples(chat: &ChatFormat) -> Vec<Example> {
    let example = |(question, answer): (&str, &str)| {
        let messages = [json!({"role": "user", "content": question}), json!({"role": "assistant", "content": answer})];
        let (tokens, learnt) = chat.example(&messages, &[]).unwrap();
        let positions = (1..tokens.len()).filter(|position| learnt[*position]).collect();
        Example { tokens, positions }
    };
    FACTS.into_iter().map(example).collect()
}

/// Mean cross-entropy of the answers' tokens, over all examples side by side.
fn loss(model: &Transformer, examples: &[Example]) -> Tensor<1> {
    let device = model.device();
    let time = examples.iter().map(|example| example.tokens.len()).max().unwrap();
    let (mut padded, mut positions, mut targets) = (vec![0_i64; examples.len() * time], Vec::new(), Vec::new());
    for (row, example) in examples.iter().enumerate() {
        for (to, token) in padded[row * time..].iter_mut().zip(&example.tokens) {
            *to = i64::from(*token);
        }
        for position in &example.positions {
            positions.push((row * time + position - 1) as i64);
            targets.push(i64::from(example.tokens[*position]));
        }
    }
    let count = positions.len();
    let tokens = Tensor::<2, Int>::from_data(TensorData::new(padded, [examples.len(), time]), &device);
    let integers = |values: Vec<i64>| Tensor::<1, Int>::from_data(TensorData::new(values, [count]), &device);
    let (positions, targets) = (integers(positions), integers(targets));
    let scores = model.scores(Predictions { tokens, positions, targets, temperature: 1.0, entropies: false });
    scores.log_probs.mean().neg()
}

/// Trains the low-rank parts; answers the loss before each update and after the last.
fn learn(mut model: Transformer, examples: &[Example]) -> (Transformer, Vec<f64>) {
    let mut optimizer = AdamW::new(&Optimizer { lr: RATE, ..Optimizer::default() });
    let mut losses = Vec::new();
    for _ in 0..UPDATES {
        let loss = loss(&model, examples);
        let mut gradients = Gradients::new();
        gradients.add(&model, loss.backward());
        losses.push(loss.into_scalar::<f64>());
        gradients.clip(1.0).unwrap();
        model = optimizer.step(model, &gradients, RATE).unwrap();
    }
    losses.push(loss(&model.valid(), examples).into_scalar::<f64>());
    (model, losses)
}

fn save(model: &Transformer, chat: &ChatFormat, folder: &Path) {
    save_folder(model, folder).unwrap();
    chat.tokenizer().save(folder).unwrap();
    let (prompt, answer) = ask(model.valid(), chat);
    let tokens = |text: &&str| -> Value { json!({"text": text, "tokens": chat.tokenizer().encode(text).unwrap()}) };
    let expected = json!({
        "question": QUESTION,
        "prompt": prompt,
        "answer": answer,
        "stops": chat.stops(),
        "texts": TEXTS.iter().map(tokens).collect::<Vec<_>>(),
    });
    std::fs::write(folder.join("expected.json"), expected.to_string()).unwrap();
}

#[test]
fn the_tokenizer_knows_its_own_vocabulary_and_is_saved_whole() {
    let Some(file) = file() else { return };
    let (model, tokenizer) = load(&file, &Device::flex()).unwrap();
    assert_eq!((model.config().vocab_size, tokenizer.vocab_size()), (49_152, 49_152));
    let ids = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(|name| tokenizer.id_of(name));
    assert_eq!(ids, [Some(0), Some(1), Some(2)]);
    // A word of the vocabulary is one token: what merges and their order have to bring about.
    let is_word = |text: &str| {
        let letters = text.strip_prefix(' ').unwrap_or(text);
        !letters.is_empty() && letters.chars().all(|letter| letter.is_ascii_alphabetic())
    };
    let mut words = 0;
    for id in 3..tokenizer.vocab_size() as u32 {
        let Ok(text) = String::from_utf8(tokenizer.token_bytes(id)) else { continue };
        if is_word(&text) {
            assert_eq!(tokenizer.encode(&text).unwrap(), [id], "{text:?}");
            words += 1;
        }
    }
    assert!(words >= WORDS_MIN, "only {words} words");
    let folder = tempfile::tempdir().unwrap();
    tokenizer.save(folder.path()).unwrap();
    let saved = Tokenizer::from_folder(folder.path()).unwrap();
    for text in TEXTS {
        let tokens = tokenizer.encode(text).unwrap();
        assert_eq!(saved.encode(text).unwrap(), tokens, "{text}");
        assert_eq!(tokenizer.decode(&tokens), text);
    }
}

#[test]
fn it_answers_learns_through_low_rank_parts_and_is_saved() {
    let Some(file) = file() else { return };
    let began = Instant::now();
    let (model, tokenizer) = load(&file, &Device::flex().autodiff()).unwrap();
    let loaded = began.elapsed();
    let chat = ChatFormat::new(&tokenizer).unwrap();
    let (_, answer) = ask(model.valid(), &chat);
    let text = tokenizer.decode(&answer);
    assert!(text.contains("Paris"), "{text}");

    let targets = vec![LoraTarget::QProj, LoraTarget::VProj];
    let adapted = adapt(model, &Lora { rank: 8, alpha: 16.0, targets }, 1);
    let trainable = adapted.trainable();
    assert_eq!(trainable.len(), 2 * 2 * adapted.config().layers);
    let began = Instant::now();
    let (learnt, losses) = learn(adapted, &examples(&chat));
    println!("loaded in {loaded:.1?}, {UPDATES} updates in {:.1?}, losses {losses:?}", began.elapsed());
    assert!(losses[UPDATES] < LOSS_LEFT_MAX * losses[0], "{losses:?}");

    let kept = std::env::var_os("PALESTRA_PARITY_FOLDER").map(|folder| Path::new(&folder).join("smollm2"));
    let temporary = tempfile::tempdir().unwrap();
    let folder = kept.unwrap_or_else(|| temporary.path().to_owned());
    save(&learnt, &chat, &folder);
    let (read, _) = load_folder(&folder, &Device::flex()).unwrap();
    assert_eq!(ask(read, &chat).1, ask(learnt.valid(), &chat).1, "the merged weights answer otherwise");
}
