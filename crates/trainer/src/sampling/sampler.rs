//! The sampler: slots owned by episodes, requests that join a running batch at any step and leave it when they are
//! answered.

use std::cmp::Reverse;
use std::thread::available_parallelism;

use burn::tensor::Tensor;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::choice::{Choice, choose};
use super::decoder::Decoder;
use crate::failure::TrainerError;

/// Most tokens, padding included, that one pass of the model reads.
const PASS_TOKENS_MAX: usize = 16_384;
/// Most attention scores per head, new tokens x tokens seen, that one pass computes.
const PASS_SCORES_MAX: usize = 1 << 22;
/// Most logits that exist at once.
const LOGITS_MAX: usize = 1 << 24;
/// From this many logits on, rows are shared out over threads.
const LOGITS_PER_THREAD_MIN: usize = 1 << 18;

/// An episode's place in the cache, valid until it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    index: usize,
    generation: u64,
}

/// Request of an episode for an answer.
#[derive(Debug, Clone, Copy)]
pub struct SampleRequest<'a> {
    /// Slot of the episode.
    pub slot: Slot,
    /// Tokens that come after all that the slot has read and answered so far.
    pub tokens: &'a [u32],
    /// The longest answer, in tokens.
    pub max_tokens: usize,
    /// 0 takes the most probable token each time.
    pub temperature: f64,
    /// Mass of the nucleus; 1 leaves nothing out.
    pub top_p: f64,
    /// Tokens that end an answer.
    pub stops: &'a [u32],
}

/// Answer to an episode's request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The sampled tokens, the stop token included.
    pub tokens: Vec<u32>,
    /// Of each token, as [`Choice::log_prob`].
    pub log_probs: Vec<f32>,
    /// Reason why it ended.
    pub stopped: Stopped,
}

/// Reason why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// With a stop token, its last.
    Stop,
    /// At the longest answer, or because the slot is full. Without a single token the prompt itself did not fit, and
    /// was not read.
    Length,
}

/// An answer that is being sampled.
#[derive(Debug)]
struct Running {
    max_tokens: usize,
    temperature: f64,
    top_p: f64,
    stops: Vec<u32>,
    answer: Answer,
}

/// The owner of a slot.
#[derive(Debug)]
struct Episode {
    random: ChaCha8Rng,
    /// All that it read and answered, at most the capacity.
    history: Vec<u32>,
    /// Number of tokens of the history in the cache.
    cached: usize,
    running: Option<Running>,
}

/// Samples answers of a model for many episodes at once.
///
/// An episode keeps its slot from turn to turn: what it has read is not read again. Each has a random stream of its
/// own, from the seed and the episode's key, from which one number is drawn per token: an answer does not depend on who
/// shares the batch, but for the rounding of the model's sums. All calls block while the device computes.
pub struct Sampler<D: Decoder> {
    decoder: D,
    cache: D::Cache,
    capacity: usize,
    seed: u64,
    episodes: Vec<Option<Episode>>,
    generations: Vec<u64>,
    /// Slots whose request was answered without a pass of the model.
    answered: Vec<(Slot, Answer)>,
}

impl<D: Decoder> Sampler<D> {
    /// A sampler with `slots` slots of `capacity` tokens. The model has to be one without autodiff (`valid()`): else
    /// memory grows with each token.
    pub fn new(decoder: D, slots: usize, capacity: usize, seed: u64) -> Self {
        let cache = decoder.new_cache(slots, capacity);
        let episodes = (0..slots).map(|_| None).collect();
        Self { decoder, cache, capacity, seed, episodes, generations: vec![0; slots], answered: Vec::new() }
    }

    /// Gives a free slot to an episode, or none where all are taken. Its random stream follows from the sampler's seed
    /// and `key`.
    pub fn open(&mut self, key: u64) -> Option<Slot> {
        let index = self.episodes.iter().position(Option::is_none)?;
        self.decoder.clear(&mut self.cache, index);
        let random = stream(self.seed, key);
        self.episodes[index] = Some(Episode { random, history: Vec::new(), cached: 0, running: None });
        Some(Slot { index, generation: self.generations[index] })
    }

    /// Frees a slot, also in the middle of an answer, which is dropped. A slot that was closed before stays so.
    pub fn close(&mut self, slot: Slot) {
        if self.episode(slot).is_ok() {
            self.episodes[slot.index] = None;
            self.generations[slot.index] += 1;
            self.answered.retain(|(answered, _)| *answered != slot);
        }
    }

    /// Number of slots that are free.
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.episodes.iter().filter(|episode| episode.is_none()).count()
    }

    /// Number of tokens that a slot can still take, of prompts and answers together.
    ///
    /// # Errors
    /// Where the slot is closed.
    pub fn room(&self, slot: Slot) -> Result<usize, TrainerError> {
        Ok(self.capacity - self.episode(slot)?.history.len())
    }

    /// All that a slot has read and answered so far.
    ///
    /// # Errors
    /// Where the slot is closed.
    pub fn history(&self, slot: Slot) -> Result<&[u32], TrainerError> {
        Ok(&self.episode(slot)?.history)
    }

    /// Number of requests that are not answered yet.
    #[must_use]
    pub fn running(&self) -> usize {
        self.episodes.iter().flatten().filter(|episode| episode.running.is_some()).count() + self.answered.len()
    }

    /// The model.
    pub fn decoder(&self) -> &D {
        &self.decoder
    }

    /// Lets a request join the batch; [`Self::step`] answers it.
    ///
    /// # Errors
    /// [`TrainerError::Internal`], and nothing has changed, where the slot is closed or already asked, a token is none
    /// of the model's, a number is out of its range, or there is nothing to read.
    pub fn submit(&mut self, request: &SampleRequest<'_>) -> Result<(), TrainerError> {
        let (capacity, vocabulary) = (self.capacity, self.decoder.vocabulary());
        let waits = self.answered.iter().any(|(slot, _)| *slot == request.slot);
        let episode = self.episode_mut(request.slot)?;
        let fault = if waits || episode.running.is_some() {
            Some("it is asked twice at once".to_owned())
        } else if let Some(token) = request.tokens.iter().find(|&&token| token as usize >= vocabulary) {
            Some(format!("token {token} is not among the {vocabulary} of the model"))
        } else if !(request.temperature >= 0.0
            && request.temperature.is_finite()
            && (0.0..=1.0).contains(&request.top_p))
        {
            Some(format!("temperature {} or top_p {} is out of its range", request.temperature, request.top_p))
        } else if episode.history.is_empty() && request.tokens.is_empty() {
            Some("there is nothing to answer to".to_owned())
        } else {
            None
        };
        if let Some(fault) = fault {
            return Err(TrainerError::Internal(format!("slot {}: {fault}", request.slot.index)));
        }
        let answer = Answer { tokens: Vec::new(), log_probs: Vec::new(), stopped: Stopped::Length };
        if episode.history.len() + request.tokens.len() >= capacity {
            self.answered.push((request.slot, answer));
            return Ok(());
        }
        episode.history.extend_from_slice(request.tokens);
        if request.max_tokens == 0 {
            self.answered.push((request.slot, answer));
            return Ok(());
        }
        episode.running = Some(Running {
            max_tokens: request.max_tokens,
            temperature: request.temperature,
            top_p: request.top_p,
            stops: request.stops.to_vec(),
            answer,
        });
        Ok(())
    }

    /// Samples one token for every request in the batch and hands out those that are answered now; they leave the batch.
    ///
    /// # Errors
    /// Where the model's logits are not finite or the device fails; the requests in the batch are lost then, and their
    /// slots have to be closed.
    pub fn step(&mut self) -> Result<Vec<(Slot, Answer)>, TrainerError> {
        let mut answers = std::mem::take(&mut self.answered);
        for pass in self.passes() {
            self.pass(&pass, &mut answers)?;
        }
        Ok(answers)
    }

    /// Answers all asks, in their order, together.
    ///
    /// # Errors
    /// As [`Self::submit`] and [`Self::step`]; also where asks that were submitted before are still running. The slots
    /// of the asks have to be closed after an error.
    pub fn answer(&mut self, requests: &[SampleRequest<'_>]) -> Result<Vec<Answer>, TrainerError> {
        if self.running() > 0 {
            return Err(TrainerError::Internal("other asks are running: submit these too".to_owned()));
        }
        for request in requests {
            self.submit(request)?;
        }
        let mut answers: Vec<Option<Answer>> = requests.iter().map(|_| None).collect();
        while self.running() > 0 {
            for (slot, answer) in self.step()? {
                if let Some(place) = requests.iter().position(|request| request.slot == slot) {
                    answers[place] = Some(answer);
                }
            }
        }
        let missing = || TrainerError::Internal("a request was never answered".to_owned());
        answers.into_iter().map(|answer| answer.ok_or_else(missing)).collect()
    }

    /// Groups the running slots by how much they have to read, so that long prompts do not pad the others and a pass
    /// stays within its bounds. In each group in the order of the slots, which the cache may then read as one piece.
    fn passes(&self) -> Vec<Vec<usize>> {
        let mut waiting: Vec<(usize, usize, usize)> = Vec::new();
        for (index, episode) in self.episodes.iter().enumerate() {
            if let Some(episode) = episode.as_ref().filter(|episode| episode.running.is_some()) {
                waiting.push((episode.history.len() - episode.cached, episode.history.len(), index));
            }
        }
        waiting.sort_by_key(|&(unread, _, index)| (Reverse(unread), index));
        let mut passes: Vec<Vec<usize>> = Vec::new();
        let (mut longest, mut seen_most) = (0, 0);
        for (unread, seen, index) in waiting {
            let fits = |rows: usize| {
                let tokens = rows * longest;
                // Less than half of a row is padding.
                2 * unread > longest && tokens <= PASS_TOKENS_MAX && tokens * seen.max(seen_most) <= PASS_SCORES_MAX
            };
            match passes.last_mut() {
                Some(pass) if fits(pass.len() + 1) => {
                    pass.push(index);
                    seen_most = seen_most.max(seen);
                }
                _ => {
                    (longest, seen_most) = (unread, seen);
                    passes.push(vec![index]);
                }
            }
        }
        for pass in &mut passes {
            pass.sort_unstable();
        }
        passes
    }

    fn pass(&mut self, slots: &[usize], answers: &mut Vec<(Slot, Answer)>) -> Result<(), TrainerError> {
        let states = self.read(slots)?;
        let [_, width] = states.dims();
        let rows_at_once = (LOGITS_MAX / self.decoder.vocabulary().max(1)).max(1);
        for (chunk, rows) in slots.chunks(rows_at_once).enumerate() {
            let from = chunk * rows_at_once;
            let states = states.clone().slice([from..from + rows.len(), 0..width]);
            let data = self.decoder.logits(states).try_into_data();
            let data = data.map_err(|error| TrainerError::device(format!("the logits could not be read: {error}")))?;
            let logits = data.try_into_vec_as::<f32>();
            let logits = logits.map_err(|error| TrainerError::Internal(format!("logits of another kind: {error}")))?;
            self.extend(rows, &logits, answers)?;
        }
        Ok(())
    }

    /// Reads what the slots' caches lack; answers the states `[rows, width]` after it.
    fn read(&mut self, slots: &[usize]) -> Result<Tensor<2>, TrainerError> {
        loop {
            let mut is_last = true;
            let mut parts: Vec<&[u32]> = Vec::with_capacity(slots.len());
            for &index in slots {
                let Some(episode) = &self.episodes[index] else {
                    return Err(TrainerError::Internal(format!("slot {index} has no episode")));
                };
                let unread = &episode.history[episode.cached..];
                // A pass of several rows always fits: only a single long row is cut.
                let bound = PASS_TOKENS_MAX.min(PASS_SCORES_MAX / episode.history.len().max(1)).max(1);
                let end = if slots.len() == 1 { unread.len().min(bound) } else { unread.len() };
                is_last &= end == unread.len();
                parts.push(&unread[..end]);
            }
            let states = self.decoder.append(&mut self.cache, slots, &parts)?;
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            for (&index, length) in slots.iter().zip(lengths) {
                if let Some(episode) = &mut self.episodes[index] {
                    episode.cached += length;
                }
            }
            if is_last {
                return Ok(states);
            }
        }
    }

    /// Chooses a token for each row and ends the answers that are complete.
    fn extend(
        &mut self,
        slots: &[usize],
        logits: &[f32],
        answers: &mut Vec<(Slot, Answer)>,
    ) -> Result<(), TrainerError> {
        let choices = self.choose(slots, logits)?;
        for (&index, choice) in slots.iter().zip(choices) {
            let Some(episode) = &mut self.episodes[index] else { continue };
            let Some(running) = &mut episode.running else { continue };
            episode.history.push(choice.token);
            running.answer.tokens.push(choice.token);
            running.answer.log_probs.push(choice.log_prob);
            let stops = running.stops.contains(&choice.token);
            if stops {
                running.answer.stopped = Stopped::Stop;
            }
            if (stops || running.answer.tokens.len() >= running.max_tokens || episode.history.len() >= self.capacity)
                && let Some(running) = episode.running.take()
            {
                answers.push((Slot { index, generation: self.generations[index] }, running.answer));
            }
        }
        Ok(())
    }

    fn choose(&mut self, slots: &[usize], logits: &[f32]) -> Result<Vec<Choice>, TrainerError> {
        let vocabulary = self.decoder.vocabulary();
        if logits.len() != slots.len() * vocabulary {
            let found = logits.len() / slots.len().max(1);
            return Err(TrainerError::Internal(format!("{found} logits per row, not the vocabulary's {vocabulary}")));
        }
        let mut rows = Vec::with_capacity(slots.len());
        // Rows ask for their random streams mutably, so episodes are taken apart once, in the order of their slots.
        let mut episodes: Vec<Option<&mut Episode>> = self.episodes.iter_mut().map(Option::as_mut).collect();
        for (row, &index) in slots.iter().enumerate() {
            let episode = episodes[index].take();
            let Some(Episode { random, running: Some(running), .. }) = episode else {
                return Err(TrainerError::Internal(format!("slot {index} has no request")));
            };
            let logits = &logits[row * vocabulary..(row + 1) * vocabulary];
            rows.push(Row { logits, temperature: running.temperature, top_p: running.top_p, random });
        }
        let cores = available_parallelism().map_or(1, usize::from);
        let threads = cores.min(logits.len() / LOGITS_PER_THREAD_MIN).max(1);
        let share = rows.len().div_ceil(threads).max(1);
        if threads == 1 {
            return choose_all(&mut rows);
        }
        std::thread::scope(|scope| {
            let parts: Vec<_> = rows.chunks_mut(share).map(|part| scope.spawn(move || choose_all(part))).collect();
            let mut choices = Vec::with_capacity(slots.len());
            for part in parts {
                let failed = |_| TrainerError::Internal("a thread that chooses tokens panicked".to_owned());
                choices.extend(part.join().map_err(failed)??);
            }
            Ok(choices)
        })
    }

    fn episode(&self, slot: Slot) -> Result<&Episode, TrainerError> {
        let current = self.generations.get(slot.index) == Some(&slot.generation);
        let episode = self.episodes.get(slot.index).and_then(Option::as_ref).filter(|_| current);
        episode.ok_or_else(|| TrainerError::Internal(format!("slot {} is closed", slot.index)))
    }

    fn episode_mut(&mut self, slot: Slot) -> Result<&mut Episode, TrainerError> {
        let current = self.generations.get(slot.index) == Some(&slot.generation);
        let episode = self.episodes.get_mut(slot.index).and_then(Option::as_mut).filter(|_| current);
        episode.ok_or_else(|| TrainerError::Internal(format!("slot {} is closed", slot.index)))
    }
}

/// Inputs of one choice.
struct Row<'a> {
    logits: &'a [f32],
    temperature: f64,
    top_p: f64,
    random: &'a mut ChaCha8Rng,
}

fn choose_all(rows: &mut [Row<'_>]) -> Result<Vec<Choice>, TrainerError> {
    rows.iter_mut().map(|row| choose(row.logits, row.temperature, row.top_p, row.random)).collect()
}

/// The random stream of an episode: ChaCha8 keyed by both numbers, so that no two pairs share one.
pub(super) fn stream(seed: u64, key: u64) -> ChaCha8Rng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&key.to_le_bytes());
    bytes[16..].copy_from_slice(b"palestra sampler");
    ChaCha8Rng::from_seed(bytes)
}
