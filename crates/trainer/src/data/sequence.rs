//! A conversation as tokens. What a token is stands beside it, in one place: nothing later has to guess where an answer began.

use serde::{Deserialize, Serialize};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// It was given before the first answer.
    Prompt,
    /// The policy said it.
    Action,
    /// The environment said it, or it is the glue between two messages.
    Observation,
}

/// A conversation as tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    tokens: Vec<u32>,
    parts: Vec<Part>,
    /// The log-probability with which each token was sampled; 0 for those that were not.
    behaviour: Vec<f32>,
    /// In which turn each token was said, from 0; that of the next answer for what was not sampled.
    turns: Vec<u32>,
}

impl Sequence {
    /// A sequence that begins with what was given.
    #[must_use]
    pub fn begin(prompt: &[u32]) -> Self {
        let mut sequence = Self::default();
        sequence.extend(prompt, Part::Prompt, 0);
        sequence
    }

    /// Adds what was not sampled.
    pub fn extend(&mut self, tokens: &[u32], part: Part, turn: u32) {
        self.tokens.extend_from_slice(tokens);
        self.parts.resize(self.tokens.len(), part);
        self.behaviour.resize(self.tokens.len(), 0.0);
        self.turns.resize(self.tokens.len(), turn);
    }

    /// Adds an answer with the log-probabilities of its tokens.
    pub fn answer(&mut self, tokens: &[u32], log_probs: &[f32], turn: u32) {
        self.extend(tokens, Part::Action, turn);
        let from = self.behaviour.len() - tokens.len();
        for (kept, sampled) in self.behaviour[from..].iter_mut().zip(log_probs) {
            *kept = *sampled;
        }
    }

    /// Every token.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// How many tokens there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Places of the tokens that are `part` and have a token before them, from which they can be foretold.
    pub fn places(&self, part: Part) -> impl Iterator<Item = usize> + '_ {
        (1..self.tokens.len()).filter(move |place| self.parts[*place] == part)
    }

    /// How many tokens [`Sequence::places`] gives.
    #[must_use]
    pub fn count(&self, part: Part) -> usize {
        self.places(part).count()
    }

    /// The log-probability with which the token at `place` was sampled.
    #[must_use]
    pub fn behaviour(&self, place: usize) -> f32 {
        self.behaviour[place]
    }

    /// In which turn the token at `place` was said.
    #[must_use]
    pub fn turn(&self, place: usize) -> usize {
        self.turns[place] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_knows_what_it_is() {
        let mut sequence = Sequence::begin(&[1, 2]);
        sequence.answer(&[3, 4], &[-0.5, -0.25], 0);
        sequence.extend(&[5], Part::Observation, 1);
        sequence.answer(&[6], &[-1.0], 1);
        assert_eq!(sequence.places(Part::Action).collect::<Vec<_>>(), [2, 3, 5]);
        assert_eq!(sequence.places(Part::Observation).collect::<Vec<_>>(), [4]);
        assert_eq!(sequence.places(Part::Prompt).collect::<Vec<_>>(), [1], "nothing foretells the first token");
        assert_eq!((sequence.behaviour(3), sequence.turn(5), sequence.len()), (-0.25, 1, 6));
    }
}
