//! A language model that acts: conversations as tokens, answers sampled for all live episodes together.

use std::sync::Arc;

use palestra_protocol::action::Action;
use palestra_protocol::session::Opened;
use palestra_protocol::spec::train::ToolFormat;
use palestra_protocol::step::{Stepped, StopReason};
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

    /// Adds what an episode is shown. The sequence takes as much as there is room for; the sampler refuses what does not fit whole.
    fn show(&self, seat: &mut LanguageSeat, shown: Vec<u32>, part: Part) -> Result<(), TrainerError> {
        let fits = shown.len().min(self.sampler.room(seat.slot)?);
        seat.sequence.extend(&shown[..fits], part, seat.turn);
        seat.unread = shown;
        Ok(())
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
        let mut seat =
            LanguageSeat { slot, sequence: Sequence::default(), unread: Vec::new(), turn: 0, tools, ended: true };
        self.show(&mut seat, prompt, Part::Prompt)?;
        Ok(seat)
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
        if stepped.terminated || stepped.stop_reason == Some(StopReason::InfraError) {
            return Ok(());
        }
        let messages: Vec<Value> = stepped
            .messages
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(|error| TrainerError::Internal(error.to_string()))?;
        let shown = match self.chat.continuation(seat.ended, &messages) {
            Ok(shown) => shown,
            // After a cut nobody answers: what cannot be shown is left out.
            Err(_) if stepped.truncated => return Ok(()),
            Err(error) => return Err(error),
        };
        seat.turn += 1;
        // The sampler has read the answer itself.
        self.show(seat, shown, Part::Observation)
    }

    fn end(&mut self, seat: LanguageSeat) -> Sequence {
        self.sampler.close(seat.slot);
        seat.sequence
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use palestra_protocol::id::EpisodeId;
    use palestra_protocol::observation::{Message, Observation};
    use palestra_protocol::step::Info;

    use super::*;
    use crate::model::TransformerConfig;
    use crate::tokenizer::{BYTE_ASSISTANT, Tokenizer};

    /// Room for the tokens of an episode.
    const CAPACITY: usize = 48;
    /// Most tokens of an answer.
    const ANSWER: usize = 4;

    fn actor() -> LanguageActor {
        let tokenizer = Tokenizer::bytes();
        let config = TransformerConfig::tiny(tokenizer.vocab_size(), None, CAPACITY);
        let model = Transformer::init(&config, 1, &Device::flex()).unwrap();
        let answering = Answering { max_tokens: ANSWER, temperature: 1.0, top_p: 1.0, tool_format: ToolFormat::Text };
        LanguageActor::new(
            Sampler::new(model, 1, CAPACITY, 1),
            Arc::new(ChatFormat::new(&tokenizer).unwrap()),
            answering,
        )
    }

    /// A seat whose episode begins with so many tokens.
    fn seat(actor: &mut LanguageActor, prompt: usize) -> LanguageSeat {
        let slot = actor.sampler.open(0).unwrap();
        let sequence = Sequence::default();
        let mut seat = LanguageSeat { slot, sequence, unread: Vec::new(), turn: 0, tools: Vec::new(), ended: true };
        actor.show(&mut seat, vec![65; prompt], Part::Prompt).unwrap();
        seat
    }

    /// A step that showed a text, and why the episode ended.
    fn stepped(text: &str, stop_reason: Option<StopReason>) -> Stepped {
        Stepped {
            episode: EpisodeId::new(),
            seq: 1,
            durable_seq: 1,
            observation: Observation::text(text),
            messages: vec![Message::new("user", text)],
            reward: None,
            terminated: stop_reason == Some(StopReason::Done),
            truncated: stop_reason.is_some_and(|reason| reason != StopReason::Done),
            stop_reason,
            verdict: None,
            info: Info::default(),
        }
    }

    fn answer(actor: &mut LanguageActor, seat: &mut LanguageSeat) -> Act {
        actor.act(&mut [seat]).unwrap().remove(0)
    }

    #[test]
    fn a_sequence_never_holds_more_than_its_room() {
        let mut actor = actor();
        let mut seat = seat(&mut actor, 8);
        assert!(matches!(answer(&mut actor, &mut seat), Act::Step(_)));
        let before = seat.sequence.len();
        actor.observe(&mut seat, &stepped(&"x".repeat(CAPACITY), None)).unwrap();
        assert_eq!(seat.sequence.len(), CAPACITY);
        assert_eq!(seat.sequence.count(Part::Observation), CAPACITY - before);
        assert_eq!(answer(&mut actor, &mut seat), Act::Full);
        assert_eq!(actor.end(seat).len(), CAPACITY);
    }

    #[test]
    fn a_prompt_without_room_is_cut_and_not_answered() {
        let mut actor = actor();
        let mut seat = seat(&mut actor, CAPACITY + 1);
        assert_eq!(answer(&mut actor, &mut seat), Act::Full);
        assert_eq!(actor.end(seat).len(), CAPACITY);
    }

    #[test]
    fn a_cut_episode_ends_where_the_next_answer_would_begin() {
        let last = |stop_reason| {
            let mut actor = actor();
            let mut seat = seat(&mut actor, 8);
            answer(&mut actor, &mut seat);
            let answered = seat.sequence.len();
            actor.observe(&mut seat, &stepped("x", stop_reason)).unwrap();
            let sequence = actor.end(seat);
            (sequence.len() > answered, sequence.tokens().last() == Some(&BYTE_ASSISTANT))
        };
        assert_eq!(last(Some(StopReason::MaxSteps)), (true, true));
        assert_eq!(last(None), (true, true));
        assert!(!last(Some(StopReason::Done)).0, "nothing comes after an end");
        assert!(!last(Some(StopReason::InfraError)).0, "what failed shows nothing");
    }
}
