//! A language model that acts: conversations as tokens, answers sampled for all live episodes together.

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::session::Opened;
use palestra_protocol::spec::train::ToolFormat;
use palestra_protocol::step::Stepped;
use serde_json::Value;

use super::{Act, Actor};
use crate::chat::{ChatFormat, action};
use crate::data::{Part, Sequence};
use crate::failure::TrainerError;
use crate::habits::shows_tools;
use crate::model::Transformer;
use crate::sampling::{Ask, Sampler, Slot, Stopped};

/// How answers are sampled.
#[derive(Debug, Clone)]
pub struct Answering {
    /// Most tokens of one answer.
    pub max_tokens: usize,
    /// Divides the logits; 0 takes the most probable token.
    pub temperature: f64,
    /// Samples from the most probable tokens that together have this probability.
    pub top_p: f64,
    /// How actions stand in the text.
    pub tool_format: ToolFormat,
}

/// A language model in many episodes.
pub struct LanguageActor {
    sampler: Sampler<Transformer>,
    chat: Arc<ChatFormat>,
    answering: Answering,
    /// Tokens that were sampled so far.
    sampled: u64,
}

/// An episode of a language model.
pub struct LanguageSeat {
    slot: Slot,
    sequence: Sequence,
    /// What the model has not read yet.
    unread: Vec<u32>,
    turn: u32,
    tools: Vec<Value>,
    /// Whether the last answer ended with the mark of its end.
    ended: bool,
}

impl LanguageActor {
    /// An actor over a sampler.
    #[must_use]
    pub const fn new(sampler: Sampler<Transformer>, chat: Arc<ChatFormat>, answering: Answering) -> Self {
        Self { sampler, chat, answering, sampled: 0 }
    }

    /// Tokens that were sampled so far.
    #[must_use]
    pub const fn sampled(&self) -> u64 {
        self.sampled
    }
}

impl Actor for LanguageActor {
    type Seat = LanguageSeat;
    type Trace = Sequence;

    fn begin(&mut self, number: u64, opened: &Opened) -> Result<LanguageSeat, TrainerError> {
        let messages: Vec<Value> = opened
            .messages
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(|error| TrainerError::Internal(error.to_string()))?;
        let offered = shows_tools(self.answering.tool_format, self.chat.knows_tools());
        let tools = if offered { opened.tools.data.clone() } else { Vec::new() };
        let prompt = self.chat.prompt(&messages, &tools)?;
        let slot = self
            .sampler
            .open(number)
            .ok_or_else(|| TrainerError::Internal("more episodes are live than the sampler has slots".to_owned()))?;
        Ok(LanguageSeat { slot, sequence: Sequence::begin(&prompt), unread: prompt, turn: 0, tools, ended: true })
    }

    fn act(&mut self, seats: &mut [&mut LanguageSeat]) -> Result<Vec<Act>, TrainerError> {
        let stops = self.chat.stops();
        let asks: Vec<Ask<'_>> = seats
            .iter()
            .map(|seat| Ask {
                slot: seat.slot,
                tokens: &seat.unread,
                max_tokens: self.answering.max_tokens,
                temperature: self.answering.temperature,
                top_p: self.answering.top_p,
                stops,
            })
            .collect();
        let answers = self.sampler.answer(&asks)?;
        let mut acts = Vec::with_capacity(seats.len());
        for (seat, answer) in seats.iter_mut().zip(answers) {
            if answer.tokens.is_empty() {
                acts.push(Act::Full);
                continue;
            }
            self.sampled += answer.tokens.len() as u64;
            seat.sequence.answer(&answer.tokens, &answer.log_probs, seat.turn);
            seat.unread.clear();
            seat.ended = answer.stopped == Stopped::Stop;
            let said = if seat.ended { &answer.tokens[..answer.tokens.len() - 1] } else { &answer.tokens[..] };
            let said = self.chat.tokenizer().decode(said);
            let action = action(&said, self.answering.tool_format, &seat.tools);
            let action = serde_json::from_value(action).unwrap_or(Action::Text(said));
            acts.push(Act::Step(action));
        }
        Ok(acts)
    }

    fn observe(&mut self, seat: &mut LanguageSeat, stepped: &Stepped) -> Result<(), TrainerError> {
        if stepped.terminated || stepped.truncated {
            return Ok(());
        }
        let messages: Vec<Value> = stepped
            .messages
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(|error| TrainerError::Internal(error.to_string()))?;
        let shown = self.chat.continuation(seat.ended, &messages)?;
        seat.turn += 1;
        seat.sequence.extend(&shown, Part::Observation, seat.turn);
        // The sampler has read the answer itself.
        seat.unread = shown;
        Ok(())
    }

    fn end(&mut self, seat: LanguageSeat) -> Sequence {
        self.sampler.close(seat.slot);
        seat.sequence
    }
}
