//! Answers: a reply with the tokens that it is made of.

use serde_json::{Value, json};

use crate::chunk::{Chunk, chunks};
use crate::conversation::Request;
use crate::filler::MARK;
use crate::script::{Finish, Reply, Rule};
use crate::token;

/// The time at which every answer was made, so that equal requests have equal answers: 2026-01-01.
pub(crate) const CREATED: i64 = 1_767_225_600;

/// All that a dialect needs to write an answer.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) request: &'a Request,
    pub(crate) reply: Reply,
    /// Its name, by its tokens.
    pub(crate) id: String,
    pub(crate) prompt: Vec<u32>,
    pub(crate) completion: Vec<u32>,
    pub(crate) logprobs: Vec<f32>,
    /// Tokens of a part of a stream.
    tokens_per_chunk: usize,
    /// Bytes of a huge text, for which the completion has a mark; 0 otherwise.
    filler: u64,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(request: &'a Request, rule: &Rule, reply: Reply) -> Self {
        let ended = reply.finish != Finish::Length;
        let prompt = token::prompt(&request.messages, rule.retokenise);
        let completion = token::completion(&reply.message, ended);
        let logprobs = token::logprobs(&prompt, completion.len());
        let id = format!("{:016x}", token::fingerprint(&prompt) ^ token::fingerprint(&completion).rotate_left(1));
        let filler = rule.faults.bytes.unwrap_or_default();
        // The mark of a huge text is one part.
        let tokens_per_chunk = if filler > 0 { MARK.len() } else { rule.tokens_per_chunk };
        Self { request, reply, id, prompt, completion, logprobs, tokens_per_chunk, filler }
    }

    /// The id of a call, by its number.
    pub(crate) fn call_id(&self, number: usize) -> String {
        format!("call_{}_{number}", self.id)
    }

    pub(crate) const fn input_tokens(&self) -> usize {
        self.prompt.len()
    }

    pub(crate) const fn output_tokens(&self) -> u64 {
        // Of a huge text, the mark is not counted, and the last token is.
        if self.filler > 0 { self.filler + 1 } else { self.completion.len() as u64 }
    }

    pub(crate) fn total_tokens(&self) -> u64 {
        self.input_tokens() as u64 + self.output_tokens()
    }

    /// The parts in which it is sent.
    pub(crate) fn chunks(&self) -> Vec<Chunk> {
        chunks(&self.completion, self.tokens_per_chunk)
    }

    /// Adds the tokens to `object`, where they are asked for: for dialects that have no fields of their own for them.
    pub(crate) fn tell_tokens(&self, object: &mut Value) {
        if self.request.wants.token_ids {
            object["prompt_token_ids"] = json!(self.prompt);
            object["token_ids"] = json!(self.completion);
            object["logprobs"] = json!(self.logprobs);
        }
    }
}
