//! Templates of questions, site by site.

use palestra_widgets::{Draw, Level};

use crate::fact::Kind;
use crate::question::{Question, World};
use crate::{Site, documentation, encyclopaedia, forum, map, news};

/// Worlds that are drawn until one has a question of the template.
const WORLDS_MAX: usize = 50;

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
