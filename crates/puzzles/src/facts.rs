//! Facts of a puzzle for lists and guides.

use std::fmt;

/// Category of a puzzle. Public suites of generated problems use the same seven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Ciphers.
    Crypto,
    /// Calculation.
    Arithmetic,
    /// Conclusions from statements.
    Logic,
    /// Boards.
    Grid,
    /// Nodes and edges.
    Graph,
    /// Choices among many combinations.
    Search,
    /// Orders and sequences of moves.
    Sequential,
}

impl Category {
    /// All of them, in the order of the guide.
    pub const ALL: [Self; 7] =
        [Self::Crypto, Self::Arithmetic, Self::Logic, Self::Grid, Self::Graph, Self::Search, Self::Sequential];
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crypto => "crypto",
            Self::Arithmetic => "arithmetic",
            Self::Logic => "logic",
            Self::Grid => "grid",
            Self::Graph => "graph",
            Self::Search => "search",
            Self::Sequential => "sequential",
        })
    }
}

/// Name, description and what the guide tells; one sentence each where a text is asked for.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The name within the family: `sudoku`.
    pub name: &'static str,
    /// Rises with every change that can be observed.
    pub version: u32,
    /// Category.
    pub category: Category,
    /// Further words to filter by.
    pub tags: &'static [&'static str],
    /// True if the world answers before the last turn.
    pub multi_turn: bool,
    /// Task in one sentence.
    pub description: &'static str,
    /// Rule of scoring, partial credit included.
    pub rule: &'static str,
    /// Quantities that grow with the difficulty.
    pub scale: &'static str,
    /// Method of the reference solver, and the unit of its effort.
    pub effort: &'static str,
    /// The most that a null or random policy may reach on average, in [0, 1].
    pub floor: f64,
    /// True if making a problem may take more than a millisecond.
    pub heavy: bool,
}

impl Facts {
    /// All words to filter by.
    pub(super) fn all_tags(&self) -> Vec<String> {
        let turns = if self.multi_turn { "multi-turn" } else { "single-turn" };
        let mut tags = vec!["puzzle".to_owned(), self.category.to_string()];
        tags.extend(self.tags.iter().copied().chain([turns]).map(str::to_owned));
        tags
    }
}
