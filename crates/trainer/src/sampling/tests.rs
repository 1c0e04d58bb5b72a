//! The sampler over a toy model whose logits are a function of all that a slot has read, compared with the plain
//! definition.

use std::cell::RefCell;

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sampler::stream;
use super::{Answer, Decoder, SampleRequest, Sampler, Slot, Stopped, choose};
use crate::failure::TrainerError;

const VOCABULARY: usize = 11;
const CAPACITY: usize = 40;
const SEED: u64 = 5;
const STOP: u32 = 10;

/// The logits after a text: pseudo-random numbers of a generator that the text seeds.
fn logits_after(text: &[u32]) -> Vec<f32> {
    let seed =
        text.iter().fold(17_u64, |sum, &token| sum.wrapping_mul(31).wrapping_add(u64::from(token) + 1) % 0xFF_FFFF);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..VOCABULARY).map(|_| random.random_range(-2.0..2.0)).collect()
}

/// Keeps the texts as its cache; its states are row numbers into the logits that it will answer.
#[derive(Default)]
struct Toy {
    prepared: RefCell<Vec<Vec<f32>>>,
    rows_per_pass: RefCell<Vec<usize>>,
    tokens_read: RefCell<usize>,
    broken: bool,
}

impl Decoder for Toy {
    type Cache = Vec<Vec<u32>>;

    fn vocabulary(&self) -> usize {
        VOCABULARY
    }

    fn new_cache(&self, slots: usize, _capacity: usize) -> Vec<Vec<u32>> {
        vec![Vec::new(); slots]
    }

    fn clear(&self, cache: &mut Vec<Vec<u32>>, slot: usize) {
        cache[slot].clear();
    }

    fn append(&self, cache: &mut Vec<Vec<u32>>, slots: &[usize], tokens: &[&[u32]]) -> Result<Tensor<2>, TrainerError> {
        self.rows_per_pass.borrow_mut().push(slots.len());
        let mut prepared = self.prepared.borrow_mut();
        prepared.clear();
        for (&slot, tokens) in slots.iter().zip(tokens) {
            assert!(!tokens.is_empty() && cache[slot].len() + tokens.len() <= CAPACITY);
            *self.tokens_read.borrow_mut() += tokens.len();
            cache[slot].extend_from_slice(tokens);
            prepared.push(if self.broken { vec![f32::NAN; VOCABULARY] } else { logits_after(&cache[slot]) });
        }
        let rows: Vec<f32> = (0..slots.len()).map(|row| row as f32).collect();
        Ok(Tensor::from_data(TensorData::new(rows, [slots.len(), 1]), &Device::flex()))
    }

    fn logits(&self, states: Tensor<2>) -> Tensor<2> {
        let rows = states.into_data().try_into_vec::<f32>().unwrap();
        let logits: Vec<f32> = rows.iter().flat_map(|&row| self.prepared.borrow()[row as usize].clone()).collect();
        Tensor::from_data(TensorData::new(logits, [rows.len(), VOCABULARY]), &Device::flex())
    }
}

fn sampler(slots: usize) -> Sampler<Toy> {
    Sampler::new(Toy::default(), slots, CAPACITY, SEED)
}

fn request(slot: Slot, tokens: &[u32]) -> SampleRequest<'_> {
    SampleRequest { slot, tokens, max_tokens: 8, temperature: 1.0, top_p: 1.0, stops: &[STOP] }
}

/// One episode, as the contract says it.
struct Plain {
    text: Vec<u32>,
    random: ChaCha8Rng,
}

impl Plain {
    fn new(key: u64) -> Self {
        Self { text: Vec::new(), random: stream(SEED, key) }
    }

    fn answer(&mut self, request: &SampleRequest<'_>) -> Answer {
        let mut answer = Answer { tokens: Vec::new(), log_probs: Vec::new(), stopped: Stopped::Length };
        if self.text.len() + request.tokens.len() >= CAPACITY {
            return answer;
        }
        self.text.extend_from_slice(request.tokens);
        while answer.tokens.len() < request.max_tokens && self.text.len() < CAPACITY {
            let choice =
                choose(&logits_after(&self.text), request.temperature, request.top_p, &mut self.random).unwrap();
            self.text.push(choice.token);
            answer.tokens.push(choice.token);
            answer.log_probs.push(choice.log_prob);
            if request.stops.contains(&choice.token) {
                answer.stopped = Stopped::Stop;
                break;
            }
        }
        answer
    }
}

#[test]
fn greedy_is_the_chain_of_the_largest_logits() {
    let mut sampler = sampler(1);
    let slot = sampler.open(0).unwrap();
    let greedy = SampleRequest { temperature: 0.0, stops: &[], ..request(slot, &[1, 2, 3]) };
    let found = sampler.answer(&[greedy]).unwrap().remove(0);
    let mut text = vec![1, 2, 3];
    for _ in 0..8 {
        let logits = logits_after(&text);
        let best = (0..VOCABULARY).max_by(|&left, &right| logits[left].total_cmp(&logits[right])).unwrap();
        text.push(best as u32);
    }
    assert_eq!(found.tokens, text[3..]);
    assert_eq!(found.stopped, Stopped::Length);
    assert_eq!(sampler.history(slot).unwrap(), text);
}

#[test]
fn an_answer_does_not_hang_on_who_shares_the_batch() {
    let alone: Vec<Answer> = (0..6)
        .map(|key| {
            let mut sampler = sampler(1);
            let slot = sampler.open(key).unwrap();
            sampler.answer(&[request(slot, &[key as u32, 4])]).unwrap().remove(0)
        })
        .collect();
    let mut sampler = sampler(6);
    let slots: Vec<Slot> = (0..6).rev().map(|key| sampler.open(key).unwrap()).collect();
    let prompts: Vec<[u32; 2]> = (0..6).rev().map(|key| [key, 4]).collect();
    let requests: Vec<SampleRequest<'_>> =
        slots.iter().zip(&prompts).map(|(&slot, prompt)| request(slot, prompt)).collect();
    let mut together = sampler.answer(&requests).unwrap();
    together.reverse();
    assert_eq!(together, alone);
}

#[test]
fn finished_rows_leave_the_batch_and_nothing_is_read_twice() {
    let mut sampler = sampler(3);
    let slots: Vec<Slot> = (0..3).map(|key| sampler.open(key).unwrap()).collect();
    let requests: Vec<SampleRequest<'_>> = slots
        .iter()
        .zip([1, 3, 6])
        .map(|(&slot, max_tokens)| SampleRequest { max_tokens, stops: &[], ..request(slot, &[7]) })
        .collect();
    let answers = sampler.answer(&requests).unwrap();
    assert_eq!(answers.iter().map(|answer| answer.tokens.len()).collect::<Vec<_>>(), [1, 3, 6]);
    assert_eq!(*sampler.decoder().rows_per_pass.borrow(), [3, 2, 2, 1, 1, 1]);
    let before = *sampler.decoder().tokens_read.borrow();
    sampler.answer(&[SampleRequest { max_tokens: 1, ..request(slots[2], &[1, 2]) }]).unwrap();
    let read = *sampler.decoder().tokens_read.borrow() - before;
    assert_eq!(read, 3, "the last token of the answer before, and the two of the observation");
}

#[test]
fn long_prompts_do_not_pad_the_rows_that_go_on() {
    let mut sampler = sampler(4);
    let slots: Vec<Slot> = (0..4).map(|key| sampler.open(key).unwrap()).collect();
    let prompts: [&[u32]; 4] = [&[1; 20], &[2], &[3; 19], &[4]];
    let requests: Vec<SampleRequest<'_>> = slots
        .iter()
        .zip(prompts)
        .map(|(&slot, tokens)| SampleRequest { max_tokens: 1, ..request(slot, tokens) })
        .collect();
    sampler.answer(&requests).unwrap();
    assert_eq!(*sampler.decoder().rows_per_pass.borrow(), [2, 2]);
}

#[test]
fn the_capacity_ends_an_answer_and_refuses_a_prompt_without_touching_the_slot() {
    let mut sampler = sampler(1);
    let slot = sampler.open(1).unwrap();
    let long = vec![2; CAPACITY - 3];
    let full = sampler.answer(&[SampleRequest { stops: &[], ..request(slot, &long) }]).unwrap().remove(0);
    assert_eq!((full.tokens.len(), full.stopped), (3, Stopped::Length));
    assert_eq!(sampler.room(slot).unwrap(), 0);
    let refused = sampler.answer(&[request(slot, &[1])]).unwrap().remove(0);
    assert_eq!((refused.tokens.len(), refused.stopped), (0, Stopped::Length));
    assert_eq!(sampler.history(slot).unwrap().len(), CAPACITY);
    sampler.close(slot);
    let slot = sampler.open(1).unwrap();
    let too_long = vec![2; CAPACITY];
    assert!(sampler.answer(&[request(slot, &too_long)]).unwrap()[0].tokens.is_empty());
    assert_eq!(sampler.room(slot).unwrap(), CAPACITY, "a refused prompt is not read");
}

#[test]
fn a_slot_is_clean_after_it_was_closed() {
    let mut sampler = sampler(1);
    let first = sampler.open(9).unwrap();
    assert!(sampler.open(10).is_none());
    let before = sampler.answer(&[request(first, &[1, 2])]).unwrap();
    sampler.close(first);
    let second = sampler.open(9).unwrap();
    assert_eq!(sampler.answer(&[request(second, &[1, 2])]).unwrap(), before);
    assert!(sampler.answer(&[request(first, &[1])]).is_err(), "the closed slot does not reach the new owner");
    sampler.close(first);
    assert_eq!(sampler.free_slots(), 0);
}

#[test]
fn asks_join_a_running_batch() {
    let mut sampler = sampler(2);
    let (first, second) = (sampler.open(0).unwrap(), sampler.open(1).unwrap());
    sampler.submit(&SampleRequest { stops: &[], max_tokens: 4, ..request(first, &[1]) }).unwrap();
    assert!(sampler.step().unwrap().is_empty());
    sampler.submit(&SampleRequest { stops: &[], max_tokens: 2, ..request(second, &[2]) }).unwrap();
    assert!(sampler.answer(&[request(second, &[2])]).is_err());
    let mut order = Vec::new();
    while sampler.running() > 0 {
        order.extend(sampler.step().unwrap());
    }
    let plain = |key, tokens: &[u32], max_tokens| {
        let mut plain = Plain::new(key);
        plain.answer(&SampleRequest { stops: &[], max_tokens, ..request(first, tokens) })
    };
    assert_eq!(order, [(second, plain(1, &[2], 2)), (first, plain(0, &[1], 4))]);
}

#[test]
fn invalid_requests_are_refused_and_change_nothing() {
    let mut sampler = sampler(1);
    let slot = sampler.open(0).unwrap();
    let foreign = [VOCABULARY as u32];
    for wrong in [
        request(slot, &foreign),
        request(slot, &[]),
        SampleRequest { temperature: f64::NAN, ..request(slot, &[1]) },
        SampleRequest { temperature: -1.0, ..request(slot, &[1]) },
        SampleRequest { top_p: 1.5, ..request(slot, &[1]) },
    ] {
        assert!(sampler.submit(&wrong).is_err(), "{wrong:?}");
        assert_eq!((sampler.running(), sampler.room(slot).unwrap()), (0, CAPACITY));
    }
    sampler.submit(&request(slot, &[1])).unwrap();
    assert!(sampler.submit(&request(slot, &[1])).is_err(), "one request at a time");
    sampler.close(slot);
    assert_eq!(sampler.running(), 0, "closing drops the answer");
    let slot = sampler.open(0).unwrap();
    assert!(sampler.answer(&[SampleRequest { max_tokens: 0, ..request(slot, &[1]) }]).unwrap()[0].tokens.is_empty());
}

#[test]
fn logits_that_are_no_numbers_end_in_an_error() {
    let broken = Toy { broken: true, ..Toy::default() };
    let mut sampler = Sampler::new(broken, 1, CAPACITY, SEED);
    let slot = sampler.open(0).unwrap();
    assert_eq!(sampler.answer(&[request(slot, &[1])]).unwrap_err().code(), "not_finite");
    sampler.close(slot);
    assert_eq!((sampler.running(), sampler.free_slots()), (0, 1));
}

#[test]
fn a_thousand_random_operations_agree_with_the_plain_definition() {
    const OPERATIONS: usize = 1_000;
    const SLOTS: usize = 5;
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut sampler = sampler(SLOTS);
    let mut open: Vec<(Slot, Plain)> = Vec::new();
    let mut closed: Vec<Slot> = Vec::new();
    for key in 0..OPERATIONS as u64 {
        match random.random_range(0..10) {
            0..=1 => match sampler.open(key) {
                Some(slot) => open.push((slot, Plain::new(key))),
                None => assert_eq!(open.len(), SLOTS),
            },
            2 if !open.is_empty() => {
                let (slot, _) = open.swap_remove(random.random_range(0..open.len()));
                sampler.close(slot);
                closed.push(slot);
            }
            3 if !closed.is_empty() => {
                let slot = closed[random.random_range(0..closed.len())];
                assert!(sampler.room(slot).is_err() && sampler.answer(&[request(slot, &[1])]).is_err());
            }
            _ => {
                let prompts: Vec<Vec<u32>> = (0..open.len())
                    .map(|_| {
                        (0..random.random_range(1..7)).map(|_| random.random_range(0..VOCABULARY as u32)).collect()
                    })
                    .collect();
                let mut expected = Vec::new();
                let mut requests = Vec::new();
                for ((slot, plain), prompt) in open.iter_mut().zip(&prompts) {
                    if random.random_bool(0.3) {
                        continue;
                    }
                    let request = SampleRequest {
                        max_tokens: random.random_range(0..6),
                        temperature: [0.0, 0.7, 1.0][random.random_range(0..3)],
                        top_p: [0.5, 1.0][random.random_range(0..2)],
                        ..request(*slot, prompt)
                    };
                    expected.push(plain.answer(&request));
                    requests.push(request);
                }
                assert_eq!(sampler.answer(&requests).unwrap(), expected);
            }
        }
        for (slot, plain) in &open {
            assert_eq!(sampler.history(*slot).unwrap(), plain.text);
        }
        assert_eq!(sampler.free_slots(), SLOTS - open.len());
    }
}
