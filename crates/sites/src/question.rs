//! Questions, and the worlds of facts that they are about.

use palestra_widgets::{Draw, Level};

use crate::fact::Fact;
use crate::{Answer, Site};

/// A question.
#[derive(Debug, Clone)]
pub struct Question {
    /// Words of the question.
    pub text: String,
    /// The right answer.
    pub answer: Answer,
    /// Sets of facts, each of which proves the answer.
    pub ways: Vec<Vec<Fact>>,
}

impl Question {
    pub(crate) fn new(text: impl Into<String>, answer: Answer, facts: Vec<Fact>) -> Self {
        Self { text: text.into(), answer, ways: vec![facts] }
    }

    /// Another set of facts that proves the answer.
    pub(crate) fn or(mut self, facts: Vec<Fact>) -> Self {
        self.ways.push(facts);
        self
    }
}

/// Facts of a site.
pub(crate) trait World: Send + Sync + 'static {
    /// Draws the facts; the level says how many there are.
    fn draw(draw: &mut Draw) -> Self
    where
        Self: Sized;

    /// Questions about them.
    fn rows() -> Vec<Row<Self>>
    where
        Self: Sized;

    /// Renders the pages.
    fn site(&self) -> Site;
}

/// A template of a world; it asks nothing where the world has nothing to ask for.
pub(crate) struct Row<W> {
    pub name: &'static str,
    pub level: Level,
    pub ask: fn(&W, &mut Draw) -> Option<Question>,
}
