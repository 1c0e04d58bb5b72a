//! Questions: templates that draw them from worlds of facts.

use palestra_widgets::{Draw, Level};

use crate::{Answer, Site, documentation, encyclopaedia, forum, map, news};

/// Worlds that are drawn until one has a question of the template.
const WORLDS_MAX: usize = 50;

/// One sort of site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Places, rivers and regions of a country.
    Encyclopaedia,
    /// Threads with replies and votes.
    Forum,
    /// Places, roads and opening hours.
    Map,
    /// Functions, options and versions of a library.
    Documentation,
    /// Articles with dates, sections and corrections.
    News,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Encyclopaedia, Self::Forum, Self::Map, Self::Documentation, Self::News];

    /// Its name in tasks.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encyclopaedia => "encyclopaedia",
            Self::Forum => "forum",
            Self::Map => "map",
            Self::Documentation => "documentation",
            Self::News => "news",
        }
    }
}

/// One statement that pages make: a property of a subject, such as `place/alderby population`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact(String);

impl Fact {
    /// The property of a subject.
    pub(crate) fn of(subject: &str, property: &str) -> Self {
        Self(format!("{subject} {property}"))
    }
}

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

/// A rule that makes questions.
#[derive(Debug, Clone)]
pub struct Template {
    /// Its name, which begins with that of the site.
    pub name: &'static str,
    /// The sort of site.
    pub kind: Kind,
    /// Difficulty: the size of the site and the number of pages that prove an answer.
    pub level: Level,
    draw: fn(usize, &mut Draw) -> Option<Task>,
    row: usize,
}

impl Template {
    /// Draws a task; none where the draw has another level, or no world of it has such a question, which is rare. The same draw gives
    /// the same task.
    #[must_use]
    pub fn draw(&self, draw: &mut Draw) -> Option<Task> {
        if draw.level == self.level { (self.draw)(self.row, draw) } else { None }
    }
}

/// A question about a site.
pub struct Task {
    /// The question.
    pub question: Question,
    world: Box<dyn World>,
}

impl Task {
    /// Renders the site.
    #[must_use]
    pub fn site(&self) -> Site {
        self.world.site()
    }
}

/// Every template, by site.
#[must_use]
pub fn all() -> Vec<Template> {
    [
        templates::<encyclopaedia::Country>(Kind::Encyclopaedia),
        templates::<forum::Forum>(Kind::Forum),
        templates::<map::Map>(Kind::Map),
        templates::<documentation::Library>(Kind::Documentation),
        templates::<news::Paper>(Kind::News),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn templates<W: World>(kind: Kind) -> Vec<Template> {
    let rows = W::rows().into_iter().enumerate();
    let named = rows.map(|(row, made)| Template { name: made.name, kind, level: made.level, draw: drawn::<W>, row });
    named.collect()
}

fn drawn<W: World>(row: usize, draw: &mut Draw) -> Option<Task> {
    let rows = W::rows();
    let row = rows.get(row)?;
    (0..WORLDS_MAX).find_map(|_| {
        let world = W::draw(draw);
        let question = (row.ask)(&world, draw)?;
        Some(Task { question, world: Box::new(world) })
    })
}
