//! Tests of the graph: shapes that agents make, and properties of all of them.

use std::time::Instant;

use palestra_protocol::model_call::{CallOutcome, ModelCall};
use proptest::prelude::*;

use super::{Graph, Path, Reason};
use crate::fixture::{call, call_id, rollout};

fn graph(calls: Vec<ModelCall>) -> Graph {
    Graph::of(&rollout(calls))
}

fn parents(graph: &Graph) -> Vec<Option<u64>> {
    let number = |id| (0..1_000).find(|number| call_id(*number) == id).unwrap();
    graph.nodes.iter().map(|node| node.parent.map(number)).collect()
}

fn paths(graph: &Graph) -> Vec<Path> {
    graph.paths().collect()
}

#[test]
fn a_loop_is_one_path() {
    let graph = graph(vec![
        call(1, &[1, 2], &[3, 4]),
        call(2, &[1, 2, 3, 4, 5], &[6]),
        call(3, &[1, 2, 3, 4, 5, 6, 7, 8], &[9]),
    ]);
    assert_eq!(parents(&graph), [None, Some(1), Some(2)]);
    assert_eq!(graph.nodes[2].context_token_ids, [7, 8]);
    let [path] = paths(&graph).try_into().unwrap();
    assert_eq!(path.token_ids, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(path.mask, [0, 0, 1, 1, 0, 1, 0, 0, 1]);
    assert_eq!(path.logprobs.as_deref().unwrap(), [0.0, 0.0, -0.5, -1.0, 0.0, -0.5, 0.0, 0.0, -0.5]);
    assert_eq!((path.prompt_len(), path.trained()), (2, 4));
    let counts = &graph.counts;
    assert_eq!((counts.calls, counts.nodes, counts.joined, counts.branches, counts.paths), (3, 3, 2, 1, 1));
    assert_eq!((counts.tokens_trained, counts.tokens_masked, counts.tokens_shared), (4, 0, 0));
}

#[test]
fn the_order_of_the_calls_does_not_matter_and_each_counts_once() {
    let calls = vec![call(1, &[1], &[2]), call(2, &[1, 2, 3], &[4])];
    let mut turned: Vec<ModelCall> = calls.iter().rev().cloned().collect();
    turned.push(calls[0].clone());
    assert_eq!(graph(turned), graph(calls));
}

#[test]
fn a_compacted_history_is_a_root_of_its_own() {
    let graph = graph(vec![
        call(1, &[1, 2], &[3]),
        call(2, &[1, 2, 3, 4], &[5]),
        call(3, &[1, 9], &[6]),
        call(4, &[1, 9, 6, 7], &[8]),
    ]);
    assert_eq!(parents(&graph), [None, Some(1), None, Some(3)]);
    assert_eq!((graph.counts.branches, graph.counts.paths, graph.counts.tokens_shared), (2, 2, 0));
}

#[test]
fn interleaved_agents_do_not_mix() {
    let graph = graph(vec![
        call(1, &[1], &[2]),
        call(2, &[50], &[51]),
        call(3, &[1, 2, 3], &[4]),
        call(4, &[50, 51, 52], &[53]),
        call(5, &[1, 2, 3, 4, 5], &[6]),
    ]);
    assert_eq!(parents(&graph), [None, None, Some(1), Some(2), Some(3)]);
    let [sub, main] = paths(&graph).try_into().unwrap();
    assert_eq!((sub.token_ids, main.token_ids), (vec![50, 51, 52, 53], vec![1, 2, 3, 4, 5, 6]));
}

#[test]
fn retries_are_siblings_and_the_prefix_is_trained_once() {
    let graph = graph(vec![
        call(1, &[1], &[2]),
        call(2, &[1, 2, 3], &[4]),
        call(3, &[1, 2, 3], &[5]),
        call(4, &[1, 2, 3, 5, 6], &[7]),
    ]);
    assert_eq!(parents(&graph), [None, Some(1), Some(1), Some(3)]);
    let [first, second] = paths(&graph).try_into().unwrap();
    assert_eq!((first.mask, second.mask), (vec![0, 1, 0, 1], vec![0, 0, 0, 1, 0, 1]));
    assert_eq!(second.logprobs.unwrap()[1], 0.0);
    assert_eq!((graph.counts.tokens_trained, graph.counts.tokens_shared), (4, 1));
}

#[test]
fn equal_answers_to_a_retry_continue_from_the_last() {
    let graph = graph(vec![call(1, &[1], &[2]), call(2, &[1], &[2]), call(3, &[1, 2, 3], &[4])]);
    assert_eq!(parents(&graph), [None, None, Some(2)]);
}

#[test]
fn an_empty_answer_is_continued_and_an_equal_prompt_is_not() {
    let graph = graph(vec![call(1, &[1, 2], &[]), call(2, &[1, 2], &[3]), call(3, &[1, 2, 4], &[5])]);
    assert_eq!(parents(&graph), [None, None, Some(1)]);
    assert_eq!(graph.nodes[0].reasons, [Reason::EmptyCompletion]);
}

#[test]
fn a_history_that_was_tokenised_again_branches() {
    let graph = graph(vec![call(1, &[1, 2], &[3, 4]), call(2, &[1, 2, 34, 5], &[6])]);
    assert_eq!(parents(&graph), [None, None]);
    assert_eq!(graph.counts.joined, 0);
}

#[test]
fn the_longest_prefix_is_the_parent() {
    let graph = graph(vec![
        call(1, &[1], &[2]),
        call(2, &[1, 2, 3], &[4]),
        call(3, &[1, 2, 3, 4, 5], &[6]),
        call(4, &[1, 2, 3, 9], &[7]),
    ]);
    assert_eq!(parents(&graph), [None, Some(1), Some(2), Some(1)]);
}

#[test]
fn calls_without_tokens_are_left_out_and_counted() {
    let mut silent = call(2, &[1, 2, 3], &[4]);
    silent.tokens.completion_token_ids = None;
    let mut failed = call(3, &[1, 2, 3], &[4]);
    failed.outcome = CallOutcome::Failed;
    let mut cancelled = call(4, &[1, 2, 3], &[4]);
    cancelled.outcome = CallOutcome::Cancelled;
    let graph = graph(vec![call(1, &[1], &[2]), silent, failed, cancelled, call(5, &[1, 2, 3, 4, 5], &[6])]);
    assert_eq!(parents(&graph), [None, Some(1)]);
    let reasons: Vec<Reason> = graph.omitted.iter().map(|omitted| omitted.reason).collect();
    assert_eq!(reasons, [Reason::NoTokenIds, Reason::Failed, Reason::Cancelled]);
    assert!(reasons.iter().all(|reason| graph.counts.reasons[reason] == 1));
}

#[test]
fn what_cannot_be_verified_is_masked_and_stays_in_its_place() {
    let mut misaligned = call(1, &[1], &[2, 3]);
    misaligned.tokens.logprobs = Some(vec![-0.5]);
    let mut invalid = call(2, &[1, 2, 3, 4], &[5]);
    invalid.tokens.logprobs = Some(vec![0.5]);
    let mut withheld = call(3, &[1, 2, 3, 4, 5, 6], &[7]);
    withheld.finish_reason = Some("content_filter".to_owned());
    let graph = graph(vec![misaligned, invalid, withheld, call(4, &[1, 2, 3, 4, 5, 6, 7, 8], &[9])]);
    let [path] = paths(&graph).try_into().unwrap();
    assert_eq!(path.mask, [0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(path.logprobs.unwrap(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5]);
    assert_eq!(graph.nodes[0].reasons, [Reason::MisalignedLogprobs]);
    assert_eq!((&graph.nodes[0].logprobs, &graph.nodes[1].logprobs), (&None, &None));
    assert_eq!((graph.counts.tokens_trained, graph.counts.tokens_masked), (1, 4));
}

#[test]
fn calls_without_logprobs_or_with_a_cut_answer_are_trained_and_named() {
    let mut plain = call(1, &[1], &[2]);
    plain.tokens.logprobs = None;
    plain.finish_reason = Some("length".to_owned());
    let graph = graph(vec![plain, call(2, &[1, 2, 3], &[4])]);
    assert_eq!(graph.nodes[0].reasons, [Reason::NoLogprobs, Reason::Cut]);
    let [path] = paths(&graph).try_into().unwrap();
    assert_eq!((path.mask, path.logprobs), (vec![0, 1, 0, 1], None));
}

#[test]
fn rewards_belong_to_the_last_call_before_their_step() {
    let mut calls = vec![call(1, &[1], &[2]), call(2, &[1, 2, 3], &[4]), call(3, &[50], &[51])];
    (calls[0].seq, calls[1].seq, calls[2].seq) = (1, 1, 1);
    let graph = graph(calls);
    let rewards: Vec<Vec<u64>> =
        graph.nodes.iter().map(|node| node.rewards.iter().map(|reward| reward.seq).collect()).collect();
    assert_eq!(rewards, [vec![], vec![], vec![2]]);
    assert_eq!((graph.nodes[2].rewards[0].reward, graph.counts.steps_before_calls), (Some(0.5), 1));
}

#[test]
fn a_graph_survives_json() {
    let graph = graph(vec![call(1, &[1], &[2]), call(2, &[1, 2, 3], &[4])]);
    let json = serde_json::to_string(&graph).unwrap();
    assert_eq!(serde_json::from_str::<Graph>(&json).unwrap(), graph);
}

#[test]
fn three_hundred_long_calls_are_joined_at_once() {
    let mut prompt: Vec<u32> = (0..50_000).collect();
    let mut calls = Vec::new();
    for number in 1..=300 {
        let completion = [number, number + 1];
        calls.push(call(u64::from(number), &prompt, &completion));
        prompt.extend(completion);
        prompt.push(7);
    }
    let rollout = rollout(calls);
    let begun = Instant::now();
    let graph = Graph::of(&rollout);
    println!("300 calls with prompts of 50,000 tokens: {:?}", begun.elapsed());
    assert_eq!((graph.counts.joined, graph.counts.paths), (299, 1));
}

/// A call of a random rollout: it continues an earlier one or none, with few distinct tokens so that prefixes often agree by chance.
#[derive(Debug, Clone)]
struct Draw {
    after: Option<prop::sample::Index>,
    context: Vec<u32>,
    completion: Vec<u32>,
    flaw: u8,
}

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let tokens = || prop::collection::vec(0_u32..3, 0..4);
    let one = (prop::option::weighted(0.8, any::<prop::sample::Index>()), tokens(), tokens(), 0_u8..12)
        .prop_map(|(after, context, completion, flaw)| Draw { after, context, completion, flaw });
    prop::collection::vec(one, 1..24)
}

fn calls(draws: Vec<Draw>) -> Vec<ModelCall> {
    let mut calls: Vec<ModelCall> = Vec::new();
    for (number, draw) in draws.into_iter().enumerate() {
        let mut prompt = Vec::new();
        if let Some(earlier) = draw.after.filter(|_| !calls.is_empty()).map(|index| &calls[index.index(calls.len())]) {
            prompt.extend(earlier.tokens.prompt_token_ids.iter().flatten());
            prompt.extend(earlier.tokens.completion_token_ids.iter().flatten());
        }
        prompt.extend(draw.context);
        let mut call = call(number as u64 + 1, &prompt, &draw.completion);
        match draw.flaw {
            0 => call.tokens.logprobs = None,
            1 => call.tokens.logprobs = Some(vec![-0.5; draw.completion.len() + 1]),
            2 => call.tokens.prompt_token_ids = None,
            3 => call.outcome = CallOutcome::Failed,
            4 => call.finish_reason = Some("abort".to_owned()),
            _ => {}
        }
        calls.push(call);
    }
    calls
}

/// The parent by the definition: of the earlier calls whose tokens begin the prompt, the longest, of equal ones the last.
fn naive_parent(calls: &[&ModelCall], place: usize) -> Option<usize> {
    let prompt = calls[place].tokens.prompt_token_ids.as_deref().unwrap();
    let end = |call: &ModelCall| {
        [call.tokens.prompt_token_ids.clone().unwrap(), call.tokens.completion_token_ids.clone().unwrap()].concat()
    };
    (0..place)
        .filter(|earlier| prompt.starts_with(&end(calls[*earlier])))
        .filter(|earlier| calls[*earlier].tokens.prompt_token_ids.as_deref() != Some(prompt))
        .max_by_key(|earlier| end(calls[*earlier]).len())
}

proptest! {
    #[test]
    fn every_rollout_is_reproduced_and_trained_once(draws in draws()) {
        let rollout = rollout(calls(draws));
        let graph = Graph::of(&rollout);
        let seen: Vec<&ModelCall> = rollout
            .calls
            .iter()
            .filter(|call| call.outcome == CallOutcome::Completed && call.tokens.prompt_token_ids.is_some())
            .collect();
        prop_assert_eq!(graph.nodes.len(), seen.len());
        for (place, node) in graph.nodes.iter().enumerate() {
            prop_assert_eq!(node.parent, naive_parent(&seen, place).map(|parent| seen[parent].id));
        }
        let mut trained = vec![0; seen.len()];
        let mut visited = vec![false; seen.len()];
        for path in graph.paths() {
            prop_assert_eq!(path.mask.len(), path.token_ids.len());
            prop_assert!(path.logprobs.as_ref().is_none_or(|logprobs| logprobs.len() == path.token_ids.len()));
            let mut unmasked = 0;
            for id in &path.calls {
                let place = seen.iter().position(|call| call.id == *id).unwrap();
                let prompt = seen[place].tokens.prompt_token_ids.as_deref().unwrap();
                let completion = seen[place].tokens.completion_token_ids.as_deref().unwrap();
                let end = prompt.len() + completion.len();
                prop_assert!(path.token_ids.starts_with(prompt), "the prompt of {} is not what the engine saw", id);
                prop_assert_eq!(&path.token_ids[prompt.len()..end], completion);
                let mask = &path.mask[prompt.len()..end];
                prop_assert!(mask.windows(2).all(|pair| pair[0] == pair[1]));
                if mask.first() == Some(&1) {
                    trained[place] += 1;
                    unmasked += completion.len();
                    if let (Some(all), Some(own)) = (&path.logprobs, &seen[place].tokens.logprobs) {
                        prop_assert_eq!(&all[prompt.len()..end], own.as_slice());
                    }
                }
                visited[place] = true;
            }
            prop_assert_eq!(path.trained(), unmasked, "only completions are trained");
        }
        prop_assert!(visited.into_iter().all(|visited| visited));
        for (node, times) in graph.nodes.iter().zip(&trained) {
            prop_assert_eq!(*times, i32::from(node.trainable));
        }
        let tokens: usize = graph.paths().map(|path| path.trained()).sum();
        prop_assert_eq!(graph.counts.tokens_trained, tokens as u64);
        prop_assert_eq!(graph.counts.paths, graph.paths().count() as u64);
        prop_assert_eq!(graph.counts.nodes + graph.omitted.len() as u64, graph.counts.calls);
    }
}
