//! A conversation as tokens. The role of each token is stored beside it.

use serde::{Deserialize, Serialize};

/// Role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// Given before the first answer.
    Prompt,
    /// Written by the policy.
    Action,
    /// Written by the environment, or the glue between two messages.
    Observation,
}

/// A conversation as tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    tokens: Vec<u32>,
    parts: Vec<Part>,
    /// The log-probability with which each token was sampled; 0 for those that were not.
    behaviour: Vec<f32>,
    /// Turn of each token, from 0; that of the next answer for what was not sampled.
    turns: Vec<u32>,
    /// True if a limit of tokens cut one of the answers.
    #[serde(default)]
    cut: bool,
}

impl Sequence {
    /// A sequence that begins with a prompt.
    #[must_use]
    pub fn begin(prompt: &[u32]) -> Self {
        let mut sequence = Self::default();
        sequence.extend(prompt, Part::Prompt, 0);
        sequence
    }

    /// Adds tokens that were not sampled.
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

    /// Notes that a limit of tokens cut the last answer.
    pub const fn cut(&mut self) {
        self.cut = true;
    }

    /// True if a limit of tokens cut one of the answers.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Every token.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Positions of the tokens that are `part` and have a token before them, from which they are predicted.
    pub fn positions(&self, part: Part) -> impl Iterator<Item = usize> + '_ {
        (1..self.tokens.len()).filter(move |position| self.parts[*position] == part)
    }

    /// Number of tokens that [`Sequence::positions`] gives.
    #[must_use]
    pub fn count(&self, part: Part) -> usize {
        self.positions(part).count()
    }

    /// The log-probability with which the token at `position` was sampled.
    #[must_use]
    pub fn behaviour(&self, position: usize) -> f32 {
        self.behaviour[position]
    }

    /// Turn of the token at `position` .
    #[must_use]
    pub fn turn(&self, position: usize) -> usize {
        self.turns[position] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_has_its_role_and_turn() {
        let mut sequence = Sequence::begin(&[1, 2]);
        sequence.answer(&[3, 4], &[-0.5, -0.25], 0);
        sequence.extend(&[5], Part::Observation, 1);
        sequence.answer(&[6], &[-1.0], 1);
        assert_eq!(sequence.positions(Part::Action).collect::<Vec<_>>(), [2, 3, 5]);
        assert_eq!(sequence.positions(Part::Observation).collect::<Vec<_>>(), [4]);
        assert_eq!(sequence.positions(Part::Prompt).collect::<Vec<_>>(), [1], "nothing predicts the first token");
        assert_eq!((sequence.behaviour(3), sequence.turn(5), sequence.len()), (-0.25, 1, 6));
    }
}
