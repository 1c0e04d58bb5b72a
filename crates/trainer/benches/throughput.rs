//! Benchmark of one update and of one sampled token, without environments: the trainer's own pieces at fixed shapes.
//!
//! `throughput FOLDER` writes its models below FOLDER, so that other programs can begin with the same weights, says `ready`, and
//! then reads one request per line, `SHAPE WORK COUNT`: SHAPE is `small` or `large`, WORK is `train` (COUNT updates) or `sample`
//! (COUNT batches of answers). Each is answered with a line of JSON. `scripts/trainer-figures` asks it and PyTorch in turn.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::Instant;

use burn::module::Module as _;
use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_protocol::spec::train::Optimizer;
use palestra_trainer::failure::TrainerError;
use palestra_trainer::model::{Predictions, Scores, Transformer, TransformerConfig, save_folder};
use palestra_trainer::optimizer::AdamW;
use palestra_trainer::passes::Passes;
use palestra_trainer::sampling::{SampleRequest, Sampler, Slot};
use palestra_trainer::tokenizer::BYTE_VOCABULARY;
use serde_json::{Value, json};

/// As in `load-tests/peers/decoder.py`.
const ROWS: usize = 32;
const TRAINED_TOKENS: usize = 128;
const PROMPT_TOKENS: usize = 32;
const ANSWER_TOKENS: usize = 96;
const RATE: f64 = 1e-3;
const GRADIENT_NORM_MAX: f64 = 1.0;
const SHAPES: [&str; 2] = ["small", "large"];

/// The built-in transformer over bytes, and a larger one with grouped heads.
fn config(shape: &str) -> Option<TransformerConfig> {
    let positions = PROMPT_TOKENS + ANSWER_TOKENS;
    match shape {
        "small" => Some(TransformerConfig::tiny(BYTE_VOCABULARY, None, positions)),
        "large" => Some(TransformerConfig {
            width: 512,
            layers: 8,
            heads: 8,
            kv_heads: 4,
            head_dim: 64,
            feed_forward: 1_376,
            ..TransformerConfig::tiny(8_192, None, positions)
        }),
        _ => None,
    }
}

/// A batch that both programs make alike.
fn tokens(vocabulary: usize, columns: usize, seed: u64) -> Vec<i64> {
    let token = |position: u64| (position * 7_919 + seed * 104_729) % 65_521 % vocabulary as u64;
    (0..(ROWS * columns) as u64).map(|position| token(position) as i64).collect()
}

/// Rows, and as predicted all of their tokens but the first of each.
fn predictions(rows: &[&[i64]], device: &Device) -> Predictions {
    let whole = rows.concat();
    let positions: Vec<i64> = (0..whole.len())
        .filter(|position| !(position + 1).is_multiple_of(TRAINED_TOKENS))
        .map(|position| position as i64)
        .collect();
    let targets: Vec<i64> = positions.iter().map(|position| whole[*position as usize + 1]).collect();
    let integers = |values: Vec<i64>| {
        let count = values.len();
        Tensor::<1, Int>::from_data(TensorData::new(values, [count]), device)
    };
    let tokens = Tensor::<2, Int>::from_data(TensorData::new(whole, [rows.len(), TRAINED_TOKENS]), device);
    let (positions, targets) = (integers(positions), integers(targets));
    Predictions { tokens, positions, targets, temperature: 1.0, entropies: false }
}

/// One shape, trained and sampled from.
struct Work {
    model: Transformer,
    optimizer: AdamW,
    updates: u64,
    /// With the weights that training began with.
    sampler: Sampler<Transformer>,
    answered: u64,
}

impl Work {
    fn new(model: Transformer) -> Self {
        let plan = Optimizer { lr: RATE, weight_decay: 0.0, ..Optimizer::default() };
        let sampler = Sampler::new(model.valid(), ROWS, PROMPT_TOKENS + ANSWER_TOKENS, 1);
        Self { model, optimizer: AdamW::new(&plan), updates: 0, sampler, answered: 0 }
    }

    /// Updates; answers the loss of the last one, and how many tokens were read.
    fn train(&mut self, count: u64) -> Result<Value, TrainerError> {
        let device = self.model.device();
        let learnt = ROWS * (TRAINED_TOKENS - 1);
        let plan = Optimizer::default();
        let mut last = f64::NAN;
        for _ in 0..count {
            let batch = tokens(self.model.config().vocab_size, TRAINED_TOKENS, self.updates);
            self.updates += 1;
            let rows: Vec<&[i64]> = batch.chunks(TRAINED_TOKENS).collect();
            let passes = Passes::new(&[TRAINED_TOKENS; ROWS], plan.micro_batch_tokens, &device);
            let (mut gradients, losses) = passes.learn(&self.model, &device, |model, pass, collect| {
                let chosen: Vec<&[i64]> = pass.rows.iter().map(|row| rows[*row]).collect();
                let loss = |scores: Scores| {
                    let loss = scores.log_probs.sum().neg() / learnt as f64;
                    let number = loss.clone().into_scalar::<f64>();
                    Ok((loss, number))
                };
                model.learn(predictions(&chosen, &device), loss, collect)
            })?;
            last = losses.iter().sum();
            gradients.clip(GRADIENT_NORM_MAX)?;
            self.model = self.optimizer.step(self.model.clone(), &gradients, RATE)?;
        }
        Ok(json!({"loss": last, "tokens": count * (ROWS * TRAINED_TOKENS) as u64}))
    }

    /// Answers to prompts, each token with its log-probability; answers how many tokens were sampled.
    fn sample(&mut self, count: u64) -> Result<Value, TrainerError> {
        let mut sampled = 0;
        for seed in 0..count {
            let batch = tokens(self.model.config().vocab_size, PROMPT_TOKENS, seed);
            let prompts: Vec<u32> = batch.into_iter().map(|token| token as u32).collect();
            let slots = (0..ROWS).map(|_| self.open()).collect::<Result<Vec<_>, _>>()?;
            let requests: Vec<SampleRequest<'_>> = slots
                .iter()
                .zip(prompts.chunks(PROMPT_TOKENS))
                .map(|(&slot, tokens)| SampleRequest {
                    slot,
                    tokens,
                    max_tokens: ANSWER_TOKENS,
                    temperature: 1.0,
                    top_p: 1.0,
                    stops: &[],
                })
                .collect();
            sampled += self.sampler.answer(&requests)?.iter().map(|answer| answer.tokens.len()).sum::<usize>();
            slots.into_iter().for_each(|slot| self.sampler.close(slot));
        }
        Ok(json!({"tokens": sampled}))
    }

    fn open(&mut self) -> Result<Slot, TrainerError> {
        self.answered += 1;
        self.sampler.open(self.answered).ok_or_else(|| TrainerError::Internal("no slot is free".to_owned()))
    }
}

/// Does what a line asks for.
fn answer(line: &str, work: &mut HashMap<&'static str, Work>) -> Result<Value, TrainerError> {
    let unknown = || TrainerError::BadSpec(format!("{line:?}: not SHAPE WORK COUNT, as `small train 4`"));
    let words: Vec<&str> = line.split_whitespace().collect();
    let [shape, kind, count] = words.as_slice() else { return Err(unknown()) };
    let work = work.get_mut(*shape).ok_or_else(unknown)?;
    let count: u64 = count.parse().map_err(|_| unknown())?;
    let began = Instant::now();
    let mut done = match *kind {
        "train" => work.train(count)?,
        "sample" => work.sample(count)?,
        _ => return Err(unknown()),
    };
    done["seconds"] = began.elapsed().as_secs_f64().into();
    done["shape"] = (*shape).into();
    done["work"] = (*kind).into();
    Ok(done)
}

fn main() -> Result<(), TrainerError> {
    // Cargo's own word for a benchmark is not for this program.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [folder] = arguments.as_slice() else {
        return Err(TrainerError::BadSpec("name the folder into which the models are written".to_owned()));
    };
    let device = Device::flex().autodiff();
    let mut work = HashMap::new();
    for shape in SHAPES {
        let Some(config) = config(shape) else { continue };
        let model = Transformer::init(&config, 7, &device)?;
        save_folder(&model, &Path::new(folder).join(shape))?;
        work.insert(shape, Work::new(model));
    }
    let out = || TrainerError::io("the output");
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready").map_err(out())?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(TrainerError::io("the input"))?;
        let answered = answer(&line, &mut work)?;
        writeln!(stdout, "{answered}").map_err(out())?;
    }
    Ok(())
}
