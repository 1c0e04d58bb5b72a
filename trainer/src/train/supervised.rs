//! A language model that learns from examples: cross-entropy on the answers, over the global count of their tokens.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::time::Instant;

use burn::module::Module as _;
use palestra_protocol::spec::train::{Data, Train};
use rand::seq::SliceRandom as _;
use serde_json::Value;

use super::Context;
use super::batch::Row;
use super::journal::{Journal, Values};
use super::keep::{self, Saved};
use super::measure::{self, Measure};
use super::start::Language;
use super::update::{integers, scalar, tokens};
use crate::chat::ChatFormat;
use crate::data::{jsonl, pack};
use crate::failure::TrainerError;
use crate::habits::Habits;
use crate::model::Transformer;
use crate::optimizer::{AdamW, Gradients, rate};
use crate::rollout::{Plans, stream};

/// The artefact in which a `collect` job leaves its examples.
const COLLECTED: &str = "episodes.jsonl";

/// An example as tokens, with the places that are learnt.
struct Lesson {
    row: Row,
    places: Vec<usize>,
}

/// Trains a language model on examples.
///
/// # Errors
/// As [`TrainerError`] says; broken lines are all named.
pub(super) fn train(spec: &Train, context: &Context, language: Language) -> Result<Value, TrainerError> {
    let Language { mut model, chat, parent } = language;
    let lessons = lessons(spec, context, &chat)?;
    let mut optimizer = AdamW::new(&spec.optimizer);
    let mut saved = keep::restore(context, &spec.optimizer, &mut model, &mut optimizer)?.unwrap_or_default();
    let mut journal = Journal::begin(spec, context, saved.step, saved.history.clone());
    let plans = Plans::new(spec.environments.clone(), spec.seed);
    let measure = Measure { spec, context, chat: &chat };
    if saved.step == 0 && spec.evaluate.as_ref().is_some_and(|evaluate| evaluate.at_start) {
        journal.step(0, &measure.measure(&model.valid(), &plans)?)?;
    }
    for step in saved.step..spec.steps {
        context.reporter.go_on()?;
        let began = Instant::now();
        let chosen = chosen(spec, lessons.len(), step);
        let learning_rate = rate(&spec.optimizer, step, spec.steps);
        let learnt: usize = chosen.iter().map(|one| lessons[*one].places.len()).sum();
        let read: usize = chosen.iter().map(|one| lessons[*one].row.tokens.len()).sum();
        let (loss, gradients) = gradients(spec, &model, &lessons, &chosen, learnt)?;
        let mut gradients = gradients;
        let grad_norm = gradients.clip(spec.optimizer.grad_norm_max)?;
        model = optimizer.step(model, &gradients, learning_rate)?;
        let seconds = began.elapsed().as_secs_f64().max(1e-9);
        let mut values = Values::from([
            ("loss".to_owned(), loss),
            ("grad_norm".to_owned(), grad_norm),
            ("learning_rate".to_owned(), learning_rate),
            ("tokens_learnt".to_owned(), learnt as f64),
            ("tokens_trained_per_second".to_owned(), read as f64 / seconds),
        ]);
        let done = step + 1;
        if measure::is_due(spec, done) {
            values.extend(measure.measure(&model.valid(), &plans)?);
        }
        journal.step(done, &values)?;
        if journal.is_due(done) {
            saved = Saved { step: done, history: journal.history().clone(), ..saved };
            let folder = keep::save(context, &model, &optimizer, &saved)?;
            journal.keep(done, &folder)?;
        }
    }
    let folder = context.files.folder.join("policy");
    let habits = Habits { tool_format: spec.rollout.tool_format, actions: Vec::new() };
    keep::save_policy(&model, chat.tokenizer(), &habits, &folder)?;
    let environments: BTreeSet<String> = spec.environments.iter().map(|mix| mix.name.clone()).collect();
    journal.finish(&folder, parent, "transformer", environments.into_iter().collect(), &context.files.folder)
}

/// Adds up the gradients of the chosen examples; answers their mean loss per learnt token too.
fn gradients(
    spec: &Train,
    model: &Transformer,
    lessons: &[Lesson],
    chosen: &[usize],
    learnt: usize,
) -> Result<(f64, Gradients), TrainerError> {
    let device = model.device();
    let rows: Vec<Row> = chosen.iter().map(|one| lessons[*one].row.clone()).collect();
    let widths: Vec<usize> = rows.iter().map(|row| row.tokens.len()).collect();
    let (mut loss, mut gradients) = (0.0, Gradients::new());
    for pass in pack(&widths, spec.optimizer.micro_batch_tokens) {
        let (mut places, mut targets) = (Vec::new(), Vec::new());
        for (row, one) in pass.rows.iter().enumerate() {
            for place in &lessons[chosen[*one]].places {
                places.push((row * pass.time + place - 1) as i64);
                targets.push(i64::from(rows[*one].tokens[*place]));
            }
        }
        let states = model.states(tokens(&rows, &pass.rows, pass.time, &device));
        let said = model.target_log_probs(states, integers(&places, &device), integers(&targets, &device), 1.0);
        let part = said.sum().neg() / learnt as f64;
        loss += scalar(part.clone())?;
        gradients.add(model, part.backward());
    }
    Ok((loss, gradients))
}

/// The examples of an update: every pass over the data is shuffled anew, and no example comes twice in a pass.
fn chosen(spec: &Train, count: usize, step: u64) -> Vec<usize> {
    let per_step = spec.optimizer.examples_per_step as usize;
    let first = step as usize * per_step;
    let mut pass = usize::MAX;
    let mut order: Vec<usize> = Vec::new();
    (first..first + per_step)
        .map(|place| {
            if place / count != pass {
                pass = place / count;
                order = (0..count).collect();
                order.shuffle(&mut stream(spec.seed, "examples", &[pass as u64]));
            }
            order[place % count]
        })
        .collect()
}

/// Examples as tokens.
fn lessons(spec: &Train, context: &Context, chat: &ChatFormat) -> Result<Vec<Lesson>, TrainerError> {
    let examples = match &spec.data {
        Some(Data::Lines(lines)) => jsonl::read(Cursor::new(lines.as_bytes()))?,
        Some(Data::Job(job)) => jsonl::read(Cursor::new(context.files.text(*job, COLLECTED)?.into_bytes()))?,
        Some(Data::File(name)) => {
            return Err(TrainerError::BadSpec(format!(
                "{name}: this server keeps no uploaded files: name a job or give lines"
            )));
        }
        None => return Err(TrainerError::BadSpec("sft needs data".to_owned())),
    };
    let most = spec.rollout.max_context_tokens as usize;
    let (mut lessons, mut faults) = (Vec::new(), Vec::new());
    for example in &examples {
        match chat.example(&example.messages, &example.tools) {
            Ok((tokens, _)) if tokens.len() > most => {
                let long = tokens.len();
                faults.push((example.line, format!("{long} tokens, more than rollout.max_context_tokens ({most})")));
            }
            Ok((tokens, learnt)) => {
                let places: Vec<usize> = (1..tokens.len()).filter(|place| learnt[*place]).collect();
                if places.is_empty() {
                    faults.push((example.line, "it holds no answer to learn".to_owned()));
                } else {
                    lessons.push(Lesson { row: Row { tokens, ..Row::default() }, places });
                }
            }
            Err(error) => faults.push((example.line, error.to_string())),
        }
    }
    if !faults.is_empty() {
        return Err(TrainerError::BadData { faults });
    }
    if lessons.is_empty() {
        return Err(TrainerError::BadData { faults: vec![(1, "there is no example".to_owned())] });
    }
    Ok(lessons)
}
