//! A language model that learns from examples: cross-entropy on the answers, over the global count of their tokens.

use std::collections::BTreeSet;
use std::time::Instant;

use burn::module::Module as _;
use burn::tensor::Device;
use palestra_protocol::spec::train::{Data, ToolFormat, Train, Validation};
use rand::seq::SliceRandom as _;
use serde_json::Value;

use super::Context;
use super::batch::Row;
use super::journal::{Journal, PolicyFolder, Values};
use super::keep::{self, Saved};
use super::measure::{self, Measure};
use super::memory;
use super::start::Language;
use super::update::{host, integers, scalar, tokens};
use crate::chat::ChatFormat;
use crate::data::Packed;
use crate::data::jsonl::{self, Example};
use crate::failure::TrainerError;
use crate::model::{Predictions, Scores, Transformer};
use crate::optimizer::{AdamW, rate};
use crate::passes::Passes;
use crate::policy_manifest::PolicyManifest;
use crate::rollout::{Plans, stream};

/// The artefact in which a `collect` job leaves its examples.
const COLLECTED: &str = "episodes.jsonl";

/// An example as tokens, with the positions that are learnt.
struct TokenizedExample {
    row: Row,
    positions: Vec<usize>,
    /// True if it has tools, which are shown.
    shows_tools: bool,
}

/// The warning that no example shows tools, where the format would show those of an environment.
fn bare(tool_format: ToolFormat) -> Option<String> {
    (tool_format != ToolFormat::Text).then(|| {
        format!(
            "no example has tools, and tool_format is {}: in an environment with tools the policy reads prompts unlike those that it \
             learnt; give the examples the tools, or set rollout.tool_format to text",
            tool_format.as_str()
        )
    })
}

/// Trains a language model on examples.
///
/// # Errors
/// As [`TrainerError`] says; broken lines are all named.
pub(super) fn train(spec: &Train, context: &Context, language: Language) -> Result<Value, TrainerError> {
    let Language { mut model, chat, parent, tool_format } = language;
    let tool_format = spec.rollout.tool_format.unwrap_or(tool_format);
    let Some(data) = &spec.data else { return Err(TrainerError::BadSpec("sft needs data".to_owned())) };
    let reading = (&*chat, tool_format);
    let (examples, validation) = both(examples(spec, context, reading, data), HeldOut::new(spec, context, reading))?;
    let longest = examples.iter().map(|example| example.row.tokens.len()).max().unwrap_or(0);
    memory::check(context, &model, &model, longest)?;
    if let Some(warning) = examples.iter().all(|example| !example.shows_tools).then(|| bare(tool_format)).flatten() {
        context.reporter.log("warn", warning)?;
    }
    let mut optimizer = AdamW::new(&spec.optimizer);
    let mut saved = keep::restore(context, &spec.optimizer, &mut model, &mut optimizer)?.unwrap_or_default();
    let mut journal = Journal::begin(spec, context, saved.step, saved.history.clone())?;
    let plans = Plans::new(spec.environments.clone(), spec.seed);
    let measure = Measure { spec, context, chat: &chat, tool_format };
    let environments: BTreeSet<String> = spec.environments.iter().map(|mix| mix.name.clone()).collect();
    let environments: Vec<String> = environments.into_iter().collect();
    let manifest = PolicyManifest { tool_format, actions: Vec::new() };
    let policy = |model: &Transformer| {
        let folder = keep::save_policy(context, model, chat.tokenizer(), &manifest)?;
        Ok::<_, TrainerError>(PolicyFolder {
            folder,
            parent,
            architecture: "transformer",
            environments: environments.clone(),
        })
    };
    if saved.step == 0 && spec.evaluate.as_ref().is_some_and(|evaluate| evaluate.at_start) {
        journal.step(0, &measure.measure(&model.valid(), &plans)?)?;
    }
    for step in saved.step..spec.steps {
        context.reporter.go_on()?;
        let chosen: Vec<&TokenizedExample> =
            chosen(spec, examples.len(), step).into_iter().map(|one| &examples[one]).collect();
        let go_on = || context.reporter.go_on();
        let (changed, mut values) = update(spec, model, &mut optimizer, &chosen, step, go_on)?;
        model = changed;
        let done = step + 1;
        if let Some(validation) = validation.as_ref().filter(|validation| validation.is_due(done)) {
            let loss = validation.loss(&model.valid(), || context.reporter.go_on())?;
            values.insert("validation_loss".to_owned(), loss);
        }
        if measure::is_due(spec, done) {
            values.extend(measure.measure(&model.valid(), &plans)?);
        }
        journal.step(done, &values)?;
        if journal.is_due(done) {
            saved = Saved { step: done, history: journal.history().clone(), ..saved };
            let folder = keep::save(context, &model, &optimizer, &saved)?;
            journal.keep(done, &folder, &policy(&model)?)?;
        }
    }
    keep::save_parts(context, &model, &spec.policy)?;
    journal.finish(&policy(&model)?, &context.files.folder)
}

/// Both of what was read; the broken lines of both where both are broken.
fn both<A, B>(learnt: Result<A, TrainerError>, held_out: Result<B, TrainerError>) -> Result<(A, B), TrainerError> {
    match (learnt, held_out) {
        (Ok(learnt), Ok(held_out)) => Ok((learnt, held_out)),
        (Err(TrainerError::BadData { mut faults }), Err(TrainerError::BadData { faults: more })) => {
            faults.extend(more);
            Err(TrainerError::BadData { faults })
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// Changes the weights once; answers the numbers of that too. `go_on` is asked before each pass.
fn update(
    spec: &Train,
    model: Transformer,
    optimizer: &mut AdamW,
    chosen: &[&TokenizedExample],
    step: u64,
    go_on: impl Fn() -> Result<(), TrainerError> + Sync,
) -> Result<(Transformer, Values), TrainerError> {
    let began = Instant::now();
    let learning_rate = rate(&spec.optimizer, step, spec.steps);
    let learnt: usize = chosen.iter().map(|one| one.positions.len()).sum();
    let read: usize = chosen.iter().map(|one| one.row.tokens.len()).sum();
    let device = model.device();
    let passes = passes(chosen, spec.optimizer.micro_batch_tokens, &device);
    let (mut gradients, losses) = passes.learn(&model, &device, |model, pass, collect| {
        go_on()?;
        let loss = |scores: Scores| {
            let part = scores.log_probs.sum().neg() / learnt as f64;
            let number = scalar(part.clone())?;
            Ok((part, number))
        };
        model.learn(predictions(chosen, pass, &device), loss, collect)
    })?;
    let loss = losses.iter().sum();
    let grad_norm = gradients.clip(spec.optimizer.grad_norm_max)?;
    let model = optimizer.step(model, &gradients, learning_rate)?;
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    let values = Values::from([
        ("loss".to_owned(), loss),
        ("grad_norm".to_owned(), grad_norm),
        ("learning_rate".to_owned(), learning_rate),
        ("tokens_learnt".to_owned(), learnt as f64),
        ("tokens_trained_per_second".to_owned(), read as f64 / seconds),
    ]);
    Ok((model, values))
}

/// Cuts examples into passes.
fn passes(chosen: &[&TokenizedExample], tokens_max: u64, device: &Device) -> Passes {
    let widths: Vec<usize> = chosen.iter().map(|one| one.row.tokens.len()).collect();
    Passes::new(&widths, tokens_max, device)
}

/// The tokens of a pass, and the learnt ones among them.
fn predictions(chosen: &[&TokenizedExample], pass: &Packed, device: &Device) -> Predictions {
    let (mut rows, mut positions, mut targets) = (Vec::with_capacity(pass.rows.len()), Vec::new(), Vec::new());
    for (line, one) in pass.rows.iter().enumerate() {
        let TokenizedExample { row, positions: learnt, .. } = chosen[*one];
        for position in learnt {
            // Where it is predicted, counted through rows x time.
            positions.push((line * pass.time + position - 1) as i64);
            targets.push(i64::from(row.tokens[*position]));
        }
        rows.push(row.tokens.as_slice());
    }
    Predictions {
        tokens: tokens(&rows, pass.time, device),
        positions: integers(&positions, device),
        targets: integers(&targets, device),
        temperature: 1.0,
        entropies: false,
    }
}

/// Examples that are held out.
struct HeldOut {
    examples: Vec<TokenizedExample>,
    every: u64,
    steps: u64,
    tokens_max: u64,
}

impl HeldOut {
    /// Those of a job; none where it names none.
    fn new(spec: &Train, context: &Context, reading: (&ChatFormat, ToolFormat)) -> Result<Option<Self>, TrainerError> {
        let Some(Validation { data, every }) = &spec.validation else { return Ok(None) };
        let examples = examples(spec, context, reading, data).map_err(|error| match error {
            // Numbers alone would not tell in which of the two the lines stand.
            TrainerError::BadData { faults } => TrainerError::BadData {
                faults: faults
                    .into_iter()
                    .map(|(line, reason)| (line, format!("(validation.data) {reason}")))
                    .collect(),
            },
            error => error,
        })?;
        let tokens_max = spec.optimizer.micro_batch_tokens;
        Ok(Some(Self { examples, every: *every, steps: spec.steps, tokens_max }))
    }

    /// True if they are measured after `done` updates.
    fn is_due(&self, done: u64) -> bool {
        done.is_multiple_of(self.every) || done == self.steps
    }

    /// The mean cross-entropy per token of their answers, in nats, under a model without autodiff. `go_on` is asked before each pass.
    fn loss(
        &self,
        model: &Transformer,
        go_on: impl Fn() -> Result<(), TrainerError> + Sync,
    ) -> Result<f64, TrainerError> {
        let chosen: Vec<&TokenizedExample> = self.examples.iter().collect();
        let device = model.device();
        let sums = passes(&chosen, self.tokens_max, &device).map(|pass| {
            go_on()?;
            let logs = host(model.scores(predictions(&chosen, pass, &device)).log_probs)?;
            Ok(-logs.into_iter().map(f64::from).sum::<f64>())
        })?;
        let count: usize = self.examples.iter().map(|example| example.positions.len()).sum();
        Ok(sums.into_iter().sum::<f64>() / count as f64)
    }
}

/// The examples of an update: every pass over the data is shuffled anew, and no example comes twice in a pass.
fn chosen(spec: &Train, count: usize, step: u64) -> Vec<usize> {
    let per_step = spec.optimizer.examples_per_step as usize;
    let first = step as usize * per_step;
    let mut pass = usize::MAX;
    let mut order: Vec<usize> = Vec::new();
    (first..first + per_step)
        .map(|position| {
            if position / count != pass {
                pass = position / count;
                order = (0..count).collect();
                order.shuffle(&mut stream(spec.seed, "examples", &[pass as u64]));
            }
            order[position % count]
        })
        .collect()
}

/// The examples of a data set as tokens.
fn examples(
    spec: &Train,
    context: &Context,
    (chat, tool_format): (&ChatFormat, ToolFormat),
    data: &Data,
) -> Result<Vec<TokenizedExample>, TrainerError> {
    let (examples, faults) = match data {
        Data::Lines(lines) => jsonl::scan(lines.as_bytes())?,
        Data::Job(job) => jsonl::scan(context.files.artifact(*job, COLLECTED)?.as_slice())?,
        Data::File(file) => jsonl::scan(context.files.uploaded(*file)?.as_slice())?,
    };
    read(&examples, faults, chat, tool_format, spec.rollout.max_context_tokens as usize)
}

/// Examples of at most `most` tokens each, with the tools that a rollout in this format is shown. `faults` are those of lines that are
/// no examples.
fn read(
    examples: &[Example],
    mut faults: Vec<(u64, String)>,
    chat: &ChatFormat,
    format: ToolFormat,
    most: usize,
) -> Result<Vec<TokenizedExample>, TrainerError> {
    let mut tokenized = Vec::new();
    for example in examples {
        match chat.example(&example.messages, format.shown(&example.tools)) {
            Ok((tokens, _)) if tokens.len() > most => {
                let long = tokens.len();
                faults.push((example.line, format!("{long} tokens, more than rollout.max_context_tokens ({most})")));
            }
            Ok((tokens, learnt)) => {
                let positions: Vec<usize> = (1..tokens.len()).filter(|position| learnt[*position]).collect();
                if positions.is_empty() {
                    faults.push((example.line, "it holds no answer to learn".to_owned()));
                } else {
                    let shows_tools = !format.shown(&example.tools).is_empty();
                    tokenized.push(TokenizedExample { row: Row { tokens, ..Row::default() }, positions, shows_tools });
                }
            }
            Err(error) => faults.push((example.line, error.to_string())),
        }
    }
    if !faults.is_empty() {
        faults.sort_by_key(|(line, _)| *line);
        return Err(TrainerError::BadData { faults });
    }
    if tokenized.is_empty() {
        return Err(TrainerError::BadData { faults: vec![(1, "there is no example".to_owned())] });
    }
    Ok(tokenized)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use palestra_protocol::spec::train::Optimizer;
    use serde_json::json;

    use super::*;
    use crate::model::{Named as _, TransformerConfig};
    use crate::tokenizer::Tokenizer;
    use crate::tokenizer::testing::{SMOL_LIKE, weather, with_template};

    /// A question and its answer as a line.
    fn line(question: &str, answer: &str) -> String {
        serde_json::json!({"messages": [
            {"role": "user", "content": question},
            {"role": "assistant", "content": answer},
        ]})
        .to_string()
    }

    fn tokenized(lines: &[String], most: usize) -> Result<Vec<TokenizedExample>, TrainerError> {
        let chat = ChatFormat::new(&Tokenizer::bytes()).unwrap();
        let (examples, faults) = jsonl::scan(lines.join("\n").as_bytes()).unwrap();
        read(&examples, faults, &chat, ToolFormat::Auto, most)
    }

    fn held_out(lines: &[String], tokens_max: u64) -> HeldOut {
        HeldOut { examples: tokenized(lines, 64).unwrap(), every: 4, steps: 10, tokens_max }
    }

    fn tiny() -> Transformer {
        let config = TransformerConfig::tiny(Tokenizer::bytes().vocab_size(), None, 64);
        Transformer::init(&config, 1, &Device::flex()).unwrap()
    }

    #[test]
    fn the_held_out_loss_is_a_mean_over_answer_tokens_however_they_are_cut() {
        let model = tiny();
        let lines = [line("a", "bc"), line("de", "a longer answer"), line("f", "g")];
        let loss = |lines: &[String], tokens_max| held_out(lines, tokens_max).loss(&model, || Ok(())).unwrap();
        let whole = loss(&lines, 10_000);
        // At random, all tokens are nearly equally likely.
        assert!((whole - (model.config().vocab_size as f64).ln()).abs() < 0.5, "{whole}");
        assert!((loss(&lines, 1) - whole).abs() < 1e-5);
        let (mut sum, mut count) = (0.0, 0.0);
        for one in &lines {
            let tokens = held_out(std::slice::from_ref(one), 1).examples[0].positions.len() as f64;
            sum += loss(std::slice::from_ref(one), 1) * tokens;
            count += tokens;
        }
        assert!((sum / count - whole).abs() < 1e-5, "{whole} is not the mean over {count} tokens");
    }

    #[test]
    fn held_out_examples_are_measured_every_so_often_and_at_the_end() {
        let held_out = held_out(&[line("a", "b")], 1);
        assert_eq!((1..=10).filter(|done| held_out.is_due(*done)).collect::<Vec<_>>(), [4, 8, 10]);
        let error = held_out.loss(&tiny(), || Err(TrainerError::Cancelled)).unwrap_err();
        assert_eq!(error.code(), "cancelled");
    }

    #[test]
    fn a_cancelled_update_ends_between_its_passes() {
        let spec = json!({"policy": {"from": "builtin:tiny-transformer"}, "algorithm": {"name": "sft"}, "steps": 1,
                          "data": {"lines": ""}, "optimizer": {"micro_batch_tokens": 1}});
        let spec: Train = serde_json::from_value(spec).unwrap();
        let examples = tokenized(&["a", "b", "c", "d"].map(|answer| line("question", answer)), 64).unwrap();
        let chosen: Vec<&TokenizedExample> = examples.iter().collect();
        let model = Transformer::init(tiny().config(), 1, &Device::flex().autodiff()).unwrap();
        let asked = AtomicUsize::new(0);
        let go_on = || match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(TrainerError::Cancelled),
        };
        let ended = update(&spec, model, &mut AdamW::new(&spec.optimizer), &chosen, 0, go_on);
        assert_eq!(ended.err().unwrap().code(), "cancelled");
        assert_eq!(asked.into_inner(), 2, "one pass was made, and the second one not begun");
    }

    #[test]
    fn examples_show_the_tools_that_rollouts_show() {
        let chat = ChatFormat::new(&with_template(SMOL_LIKE)).unwrap();
        let question = serde_json::json!({"role": "user", "content": "hi"});
        let answer = serde_json::json!({"role": "assistant", "content": "ok"});
        let line = serde_json::json!({"messages": [question, answer], "tools": [weather()]}).to_string();
        let examples = jsonl::read(line.as_bytes()).unwrap();
        for (format, shown) in
            [(ToolFormat::Auto, vec![weather()]), (ToolFormat::Json, vec![weather()]), (ToolFormat::Text, Vec::new())]
        {
            let example = read(&examples, Vec::new(), &chat, format, 512).unwrap().remove(0);
            assert_eq!(example.shows_tools, !shown.is_empty());
            let tokens = example.row.tokens;
            let prompt = chat.prompt(std::slice::from_ref(&question), &shown).unwrap();
            assert!(tokens.starts_with(&prompt), "{format:?}");
        }
    }

    #[test]
    fn only_answers_are_learnt() {
        let lines = [line("what is this", "x"), line("and that", "yz")];
        let answers = tokenized(&lines, 64).unwrap();
        let mut all = tokenized(&lines, 64).unwrap();
        all.iter_mut().for_each(|one| one.positions = (1..one.row.tokens.len()).collect());
        let spec = serde_json::from_value(serde_json::json!({
            "policy": {"from": "builtin:tiny-transformer"}, "algorithm": {"name": "sft"}, "data": {"lines": "{}"}, "steps": 1,
            "optimizer": {"lr": 0.01},
        }))
        .unwrap();
        let learnt = |examples: &[TokenizedExample]| {
            let mut optimizer = AdamW::new(&Optimizer { lr: 0.01, ..Optimizer::default() });
            let config = TransformerConfig::tiny(Tokenizer::bytes().vocab_size(), None, 64);
            let model = Transformer::init(&config, 1, &Device::flex().autodiff()).unwrap();
            let chosen: Vec<&TokenizedExample> = examples.iter().collect();
            let (model, values) = update(&spec, model, &mut optimizer, &chosen, 0, || Ok(())).unwrap();
            (model.tensors(), values["tokens_learnt"])
        };
        let ((of_answers, count), (of_all, more)) = (learnt(&answers), learnt(&all));
        // Each answer ends with a mark of its end.
        assert_eq!((count, more > count), (5.0, true));
        assert_ne!(of_answers, of_all);
    }

    #[test]
    fn every_example_that_is_too_long_is_reported_by_its_line() {
        let long = line("why", &"because ".repeat(20));
        let Err(TrainerError::BadData { faults }) = tokenized(&[long.clone(), line("a", "b"), long], 64) else {
            panic!("long examples were taken")
        };
        assert_eq!(faults.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3]);
        assert!(faults[0].1.contains("rollout.max_context_tokens (64)"), "{}", faults[0].1);
    }

    #[test]
    fn the_broken_lines_of_both_files_are_told_at_once() {
        let long = line("why", &"because ".repeat(20));
        let (learnt, held_out) = (tokenized(&["{".to_owned(), long.clone()], 64), tokenized(&[long], 64));
        let Err(TrainerError::BadData { faults }) = both(learnt, held_out) else { panic!("they were taken") };
        assert_eq!(faults.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 1]);
        assert!(faults[0].1.contains("not JSON") && faults[1].1.contains("tokens"), "{faults:?}");
        let good = || tokenized(&[line("a", "b")], 64);
        assert!(both(good(), good()).is_ok());
        assert!(both(good(), Err::<(), _>(TrainerError::Cancelled)).is_err());
    }

    #[test]
    fn examples_without_tools_are_told_of_where_tools_would_be_shown() {
        assert!(bare(ToolFormat::Auto).unwrap().contains("tool_format is auto"));
        assert_eq!(bare(ToolFormat::Text), None);
        assert!(!tokenized(&[line("a", "b")], 64).unwrap()[0].shows_tools);
    }
}
