//! Passes of a model over rows of tokens. On the processor several go at once, each over few tokens: most operations there
//! use one core, and small tensors stay in its caches. What comes of them does not depend on how many cores there are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::available_parallelism;

use burn::module::Module;
use burn::tensor::{Device, Gradients as Backward};
use parking_lot::Mutex;

use crate::data::{Packed, pack};
use crate::device::is_processor;
use crate::failure::TrainerError;
use crate::optimizer::{Gradients, trainable_shapes};

/// Tokens of a pass on the processor: of a small model, what is computed of them fits the cache of a core.
const PROCESSOR_PASS_TOKENS: u64 = 1_024;
/// Most sums of gradients that are made apart from each other.
const SUMS_MAX: usize = 64;
/// Most bytes that those may take together, unless it is one.
const SUMS_BYTES_MAX: usize = 1 << 30;

/// Rows, cut into passes.
#[derive(Debug)]
pub struct Passes {
    cut: Vec<Packed>,
    /// Number of passes at once.
    at_once: usize,
}

impl Passes {
    /// Cuts rows of these lengths so that passes which go at once have at most `tokens_max` tokens together, padding included; a row
    /// that is longer by itself gets a pass of its own. The same lengths are always cut alike.
    #[must_use]
    pub fn new(lengths: &[usize], tokens_max: u64, device: &Device) -> Self {
        if !is_processor(device) {
            return Self { cut: pack(lengths, tokens_max), at_once: 1 };
        }
        let cut = pack(lengths, tokens_max.min(PROCESSOR_PASS_TOKENS));
        let largest = cut.iter().map(|pass| pass.rows.len() * pass.time).max().unwrap_or(1).max(1);
        let cores = available_parallelism().map_or(1, usize::from);
        let fitting = usize::try_from(tokens_max).unwrap_or(usize::MAX) / largest;
        Self { cut, at_once: cores.min(fitting).max(1) }
    }

    /// Results of all passes, in their order. For models without autodiff.
    ///
    /// # Errors
    /// That of a pass; the others are not begun then.
    pub fn map<T: Send>(
        &self,
        run: impl Fn(&Packed) -> Result<T, TrainerError> + Sync,
    ) -> Result<Vec<T>, TrainerError> {
        at_once(self.at_once, self.cut.len(), |place| run(&self.cut[place]))
    }

    /// The gradients of the sum of the passes' losses, and what the passes answer besides, in their order. `learn` computes with the
    /// model that it is given, since graphs of passes that go at once share nothing, and hands on the gradients that it finds.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub fn learn<M: Module + Sync, T: Send>(
        &self,
        model: &M,
        device: &Device,
        learn: impl Fn(&M, &Packed, &mut dyn FnMut(Backward)) -> Result<T, TrainerError> + Sync,
    ) -> Result<(Gradients, Vec<T>), TrainerError> {
        // Which passes are summed together depends on the model and their number alone, as does the order of the sums: rounding is the
        // same wherever it runs.
        let elements: usize = trainable_shapes(model).values().map(|shape| shape.iter().product::<usize>()).sum();
        let fitting = SUMS_BYTES_MAX / (size_of::<f32>() * elements.max(1));
        let sums = self.cut.len().min(SUMS_MAX).min(fitting).max(1);
        let parts: Vec<&[Packed]> = self.cut.chunks(self.cut.len().div_ceil(sums).max(1)).collect();
        let learnt = at_once(self.at_once, parts.len(), |place| {
            let model = model.clone().fork(device);
            let (mut gradients, mut answers) = (Gradients::new(), Vec::with_capacity(parts[place].len()));
            for pass in parts[place] {
                answers.push(learn(&model, pass, &mut |backward| gradients.add(&model, backward))?);
            }
            Ok((gradients, answers))
        })?;
        let (mut gradients, mut answers) = (Gradients::new(), Vec::with_capacity(self.cut.len()));
        for (part, output) in learnt {
            gradients.merge(part);
            answers.extend(output);
        }
        Ok((gradients, answers))
    }
}

/// Answers for 0 to `count` - 1, in order, on at most `threads` threads. A panic goes on in the caller.
fn at_once<T: Send>(
    threads: usize,
    count: usize,
    run: impl Fn(usize) -> Result<T, TrainerError> + Sync,
) -> Result<Vec<T>, TrainerError> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).map(run).collect();
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers: Vec<Mutex<Option<Result<T, TrainerError>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(answer) = answers.get(place) else { return };
            let found = run(place);
            failed.fetch_or(found.is_err(), Ordering::Relaxed);
            *answer.lock() = Some(found);
        }
    };
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for one in working {
            if let Err(panic) = one.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    // Those behind an error may not have been begun.
    answers.into_iter().map_while(Mutex::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Int, Tensor, TensorData};
    use palestra_protocol::spec::train::{Lora, LoraTarget};

    use super::*;
    use crate::model::{Predictions, Transformer, TransformerConfig, adapt};

    fn rows() -> Vec<Vec<i64>> {
        (0..40).map(|row| (0..60 + row % 7).map(|place| (place * 7 + row * 13) % 50).collect()).collect()
    }

    fn model() -> Transformer {
        Transformer::init(&TransformerConfig::tiny(50, None, 128), 4, &Device::flex().autodiff()).unwrap()
    }

    /// The sum of the log-probabilities of each row's second half.
    fn output(model: &Transformer, rows: &[Vec<i64>], pass: &Packed) -> Tensor<1> {
        let device = model.device();
        let (mut tokens, mut places, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for (line, row) in pass.rows.iter().enumerate() {
            let mut padded = rows[*row].clone();
            for (place, token) in padded.iter().enumerate().skip(padded.len() / 2) {
                places.push((line * pass.time + place - 1) as i64);
                targets.push(*token);
            }
            padded.resize(pass.time, 0);
            tokens.extend(padded);
        }
        let integers = |values: Vec<i64>| {
            let count = values.len();
            Tensor::<1, Int>::from_data(TensorData::new(values, [count]), &device)
        };
        let tokens = Tensor::<2, Int>::from_data(TensorData::new(tokens, [pass.rows.len(), pass.time]), &device);
        let (positions, targets) = (integers(places), integers(targets));
        let scores = model.scores(Predictions { tokens, positions, targets, temperature: 1.0, entropies: false });
        scores.log_probs.sum()
    }

    fn learn(passes: &Passes, model: &Transformer) -> (Vec<(String, Vec<f32>)>, Vec<f32>) {
        let rows = rows();
        let learnt = passes.learn(model, &model.device(), |model, pass, collect| {
            let output = output(model, &rows, pass);
            let number: f32 = output.clone().into_scalar();
            collect(output.neg().backward());
            Ok(number)
        });
        let (gradients, answers) = learnt.unwrap();
        let tensor = |path: &str| gradients.get(path).unwrap().to_data().try_to_vec::<f32>().unwrap();
        (gradients.paths().map(|path| (path.to_owned(), tensor(path))).collect(), answers)
    }

    fn cut(tokens_max: u64, at_once: usize) -> Passes {
        let lengths: Vec<usize> = rows().iter().map(Vec::len).collect();
        Passes { cut: pack(&lengths, tokens_max), at_once }
    }

    #[test]
    fn passes_at_once_answer_to_the_last_bit_what_they_answer_one_after_the_other() {
        let model = model();
        let alone = learn(&cut(200, 1), &model);
        for threads in [2, 5] {
            assert!(learn(&cut(200, threads), &model) == alone, "{threads} threads");
        }
    }

    #[test]
    fn their_gradients_are_those_of_one_pass_over_everything() {
        let model = model();
        let (whole, _) = learn(&cut(100_000, 1), &model);
        let (parts, _) = learn(&cut(200, 3), &model);
        assert_eq!(parts.len(), whole.len());
        for ((path, part), (_, whole)) in parts.iter().zip(&whole) {
            let largest = whole.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            for (part, whole) in part.iter().zip(whole) {
                assert!((part - whole).abs() <= 1e-4 * largest, "{path}: {part} {whole}");
            }
        }
    }

    #[test]
    fn frozen_parameters_stay_frozen() {
        let lora = Lora { rank: 2, alpha: 4.0, targets: vec![LoraTarget::QProj, LoraTarget::DownProj] };
        let model = adapt(model(), &lora, 3);
        let (gradients, _) = learn(&cut(200, 3), &model);
        assert!(!gradients.is_empty());
        assert!(gradients.iter().all(|(path, _)| path.contains("lora")), "{gradients:?}");
    }

    #[test]
    fn tokens_at_once_keep_the_bound() {
        for tokens_max in [1, 100, 1_500, 4_000, 1 << 20] {
            let lengths: Vec<usize> = rows().iter().map(Vec::len).collect();
            let passes = Passes::new(&lengths, tokens_max, &Device::flex());
            let largest = passes.cut.iter().map(|pass| pass.rows.len() * pass.time).max().unwrap();
            assert!(passes.at_once == 1 || (passes.at_once * largest) as u64 <= tokens_max, "{passes:?}");
            assert_eq!(passes.cut.iter().map(|pass| pass.rows.len()).sum::<usize>(), lengths.len());
        }
        assert_eq!(Passes::new(&[], 10, &Device::flex()).map(|_| Ok(())).unwrap(), []);
    }

    #[test]
    fn an_error_ends_it_and_a_panic_goes_on_in_the_caller() {
        let passes = cut(100, 4);
        let failed: Result<Vec<()>, _> = passes.map(|pass| match pass.rows.contains(&20) {
            true => Err(TrainerError::Internal("this one".to_owned())),
            false => Ok(()),
        });
        assert!(failed.unwrap_err().to_string().contains("this one"));
        let panicked = std::panic::catch_unwind(|| passes.map(|_| -> Result<(), _> { panic!("as it was") }));
        assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "as it was");
    }
}
