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
use crate::model::Transformer;
use crate::policy_manifest::shows_tools;
use crate::sampling::{SampleRequest, Sampler, Slot, Stopped};

/// Settings of sampling.
#[derive(Debug, Clone)]
pub struct SamplingSettings {
    /// Most tokens of one answer.
    pub max_tokens: usize,
    /// Divides the logits; 0 takes the most probable token.
    pub temperature: f64,
    /// Samples from the most probable tokens that together have this probability.
    pub top_p: f64,
    /// Notation of actions in the text.
    pub tool_format: ToolFormat,
}

/// A language model in many episodes.
pub struct LanguageActor {
    sampler: Sampler<Transformer>,
    chat: Arc<ChatFormat>,
    sampling: SamplingSettings,
    /// Tokens that were sampled so far.
    sampled: u64,
}

/// An episode of a language model.
pub struct LanguageState {
    slot: Slot,
    sequence: Sequence,
    /// Tokens that the model has not read yet.
    unread: Vec<u32>,
    turn: u32,
    tools: Vec<Value>,
    /// True if the last answer ended with the mark of its end.
    ended: bool,
}

impl LanguageActor {
    /// An actor over a sampler.
    #[must_use]
    pub const fn new(sampler: Sampler<Transformer>, chat: Arc<ChatFormat>, sampling: SamplingSettings) -> Self {
        Self { sampler, chat, sampling, sampled: 0 }
    }

    /// Tokens that were sampled so far.
    #[must_use]
    pub const fn sampled(&self) -> u64 {
        self.sampled
    }

    /// Adds what an episode is shown. The sequence takes as much as there is room for; the sampler refuses what does not fit whole.
    fn show(&self, state: &mut LanguageState, shown: Vec<u32>, part: Part) -> Result<(), TrainerError> {
        let fits = shown.len().min(self.sampler.room(state.slot)?);
        state.sequence.extend(&shown[..fits], part, state.turn);
        state.unread = shown;
        Ok(())
    }
}

impl Actor for LanguageActor {
    type State = LanguageState;
    type Trace = Sequence;

    fn begin(&mut self, number: u64, opened: &Opened) -> Result<LanguageState, TrainerError> {
        let messages: Vec<Value> = opened
            .messages
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(|error| TrainerError::Internal(error.to_string()))?;
        let offered = shows_tools(self.sampling.tool_format, self.chat.knows_tools());
        let tools = if offered { opened.tools.to_vec() } else { Vec::new() };
        let prompt = self.chat.prompt(&messages, &tools)?;
        let slot = self
            .sampler
            .open(number)
            .ok_or_else(|| TrainerError::Internal("more episodes are live than the sampler has slots".to_owned()))?;
        let mut state =
            LanguageState { slot, sequence: Sequence::default(), unread: Vec::new(), turn: 0, tools, ended: true };
        self.show(&mut state, prompt, Part::Prompt)?;
        Ok(state)
    }

    fn act(&mut self, states: &mut [&mut LanguageState]) -> Result<Vec<Act>, TrainerError> {
        let stops = self.chat.stops();
        let requests: Vec<SampleRequest<'_>> = states
            .iter()
            .map(|state| SampleRequest {
                slot: state.slot,
                tokens: &state.unread,
                max_tokens: self.sampling.max_tokens,
                temperature: self.sampling.temperature,
                top_p: self.sampling.top_p,
                stops,
            })
            .collect();
        let answers = self.sampler.answer(&requests)?;
        let mut acts = Vec::with_capacity(states.len());
        for (state, answer) in states.iter_mut().zip(answers) {
            if answer.tokens.is_empty() {
                acts.push(Act::Full);
                continue;
            }
            self.sampled += answer.tokens.len() as u64;
            state.sequence.answer(&answer.tokens, &answer.log_probs, state.turn);
            state.unread.clear();
            state.ended = answer.stopped == Stopped::Stop;
            if !state.ended {
                state.sequence.cut();
            }
            let text = if state.ended { &answer.tokens[..answer.tokens.len() - 1] } else { &answer.tokens[..] };
            let text = self.chat.tokenizer().decode(text);
            let action = action(&text, self.sampling.tool_format, &state.tools);
            let action = serde_json::from_value(action).unwrap_or(Action::Text(text));
            acts.push(Act::Step(action));
        }
        Ok(acts)
    }

    fn observe(&mut self, state: &mut LanguageState, stepped: &Stepped) -> Result<(), TrainerError> {
        if stepped.terminated || stepped.stop_reason == Some(StopReason::InfraError) {
            return Ok(());
        }
        let messages: Vec<Value> = stepped
            .messages
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(|error| TrainerError::Internal(error.to_string()))?;
        let shown = match self.chat.continuation(state.ended, &messages) {
            Ok(shown) => shown,
            // After a cut nobody answers: what cannot be shown is left out.
            Err(_) if stepped.truncated => return Ok(()),
            Err(error) => return Err(error),
        };
        state.turn += 1;
        // The sampler has read the answer itself.
        self.show(state, shown, Part::Observation)
    }

    fn end(&mut self, state: LanguageState) -> Sequence {
        self.sampler.close(state.slot);
        state.sequence
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
        let sampling =
            SamplingSettings { max_tokens: ANSWER, temperature: 1.0, top_p: 1.0, tool_format: ToolFormat::Text };
        LanguageActor::new(
            Sampler::new(model, 1, CAPACITY, 1),
            Arc::new(ChatFormat::new(&tokenizer).unwrap()),
            sampling,
        )
    }

    /// A state whose episode begins with so many tokens.
    fn state(actor: &mut LanguageActor, prompt: usize) -> LanguageState {
        let slot = actor.sampler.open(0).unwrap();
        let sequence = Sequence::default();
        let mut state = LanguageState { slot, sequence, unread: Vec::new(), turn: 0, tools: Vec::new(), ended: true };
        actor.show(&mut state, vec![65; prompt], Part::Prompt).unwrap();
        state
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

    fn answer(actor: &mut LanguageActor, state: &mut LanguageState) -> Act {
        actor.act(&mut [state]).unwrap().remove(0)
    }

    #[test]
    fn a_sequence_never_holds_more_than_its_room() {
        let mut actor = actor();
        let mut state = state(&mut actor, 8);
        assert!(matches!(answer(&mut actor, &mut state), Act::Step(_)));
        let before = state.sequence.len();
        actor.observe(&mut state, &stepped(&"x".repeat(CAPACITY), None)).unwrap();
        assert_eq!(state.sequence.len(), CAPACITY);
        assert_eq!(state.sequence.count(Part::Observation), CAPACITY - before);
        assert_eq!(answer(&mut actor, &mut state), Act::Full);
        assert_eq!(actor.end(state).len(), CAPACITY);
    }

    #[test]
    fn a_prompt_without_room_is_cut_and_not_answered() {
        let mut actor = actor();
        let mut state = state(&mut actor, CAPACITY + 1);
        assert_eq!(answer(&mut actor, &mut state), Act::Full);
        assert_eq!(actor.end(state).len(), CAPACITY);
    }

    #[test]
    fn a_cut_episode_ends_where_the_next_answer_would_begin() {
        let last = |stop_reason| {
            let mut actor = actor();
            let mut state = state(&mut actor, 8);
            answer(&mut actor, &mut state);
            let answered = state.sequence.len();
            actor.observe(&mut state, &stepped("x", stop_reason)).unwrap();
            let sequence = actor.end(state);
            (sequence.len() > answered, sequence.tokens().last() == Some(&BYTE_ASSISTANT))
        };
        assert_eq!(last(Some(StopReason::MaxSteps)), (true, true));
        assert_eq!(last(None), (true, true));
        assert!(!last(Some(StopReason::Done)).0, "nothing comes after an end");
        assert!(!last(Some(StopReason::InfraError)).0, "what failed shows nothing");
    }
}
