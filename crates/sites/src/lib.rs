//! Small web sites, made from a seed: an encyclopaedia, a forum, a map, the documentation of a library, a newspaper. Each is rendered
//! from facts, and comes with a question. The answer is computed from the facts; each page says which facts it states, so that it can be judged whether
//! the pages that were read prove the answer. A new question is a function and a row in the list of its site.

mod answer;
mod documentation;
mod encyclopaedia;
mod fact;
mod forum;
mod frame;
mod map;
mod markup;
mod names;
mod news;
mod page;
mod proof;
mod question;
mod site;
mod template;

pub use answer::Answer;
pub use fact::{Fact, Kind};
pub use page::Link;
pub use palestra_widgets::{Draw, Level};
pub use question::Question;
pub use site::{Page, Site};
pub use template::{Task, Template, all};
