//! Questions about a library.

use palestra_widgets::{Draw, Level};

use super::pages::{function_at, module_at, version_at};
use super::{Function, Library, Setting};
use crate::names::{largest, one};
use crate::question::Row;
use crate::{Answer, Fact, Question};

pub(super) fn rows() -> Vec<Row<Library>> {
    vec![
        Row { name: "documentation-default", level: Level::One, ask: default },
        Row { name: "documentation-released", level: Level::One, ask: released },
        Row { name: "documentation-since", level: Level::One, ask: since },
        Row { name: "documentation-option-count", level: Level::Two, ask: option_count },
        Row { name: "documentation-function-released", level: Level::Two, ask: function_released },
        Row { name: "documentation-maximum", level: Level::Two, ask: maximum },
        Row { name: "documentation-default-before", level: Level::Three, ask: default_before },
        Row { name: "documentation-added-count", level: Level::Three, ask: added_count },
        Row { name: "documentation-most-options", level: Level::Three, ask: most_options },
        Row { name: "documentation-last-changed", level: Level::Four, ask: last_changed },
        Row { name: "documentation-default-in", level: Level::Four, ask: default_in },
        Row { name: "documentation-most-options-maximum", level: Level::Four, ask: most_options_maximum },
    ]
}

fn of_function(function: &Function, property: &str) -> Fact {
    Fact::of(&function_at(&function.name), property)
}

fn of_version(library: &Library, version: usize, property: &str) -> Fact {
    Fact::of(&version_at(library.versions[version].name), property)
}

/// Changes of the versions of a range, and that these are all.
fn changes(library: &Library, versions: std::ops::RangeInclusive<usize>) -> Vec<Fact> {
    let list = [Fact::of("/versions", "list")];
    list.into_iter().chain(versions.map(|version| of_version(library, version, "changes"))).collect()
}

fn setting<'a>(
    library: &'a Library,
    draw: &mut Draw,
    fits: impl Fn(&Setting) -> bool,
) -> Option<(&'a Function, &'a Setting)> {
    let fitting: Vec<(&Function, &Setting)> = library.settings().filter(|(_, option)| fits(option)).collect();
    one(draw, &fitting).copied()
}

fn number(value: i64) -> Answer {
    Answer::number(value, &[])
}

fn default(library: &Library, draw: &mut Draw) -> Option<Question> {
    let (function, option) = setting(library, draw, |_| true)?;
    let text = format!("What is the present default of the option {} of {}?", option.name, function.name);
    Some(Question::new(text, number(option.default()), vec![of_function(function, "options")]))
}

fn released(library: &Library, draw: &mut Draw) -> Option<Question> {
    let version = draw.place(library.versions.len());
    let text = format!("On which date was version {} released?", library.versions[version].name);
    let facts = vec![of_version(library, version, "released")];
    Some(Question::new(text, Answer::Date(library.versions[version].released), facts))
}

fn since(library: &Library, draw: &mut Draw) -> Option<Question> {
    let function = one(draw, &library.functions)?;
    let text = format!("Which version added the function {}?", function.name);
    let answer = Answer::text(library.versions[function.since].name);
    let question = Question::new(text, answer, vec![of_function(function, "since")]);
    Some(question.or(vec![of_version(library, function.since, "changes")]))
}

fn option_count(library: &Library, draw: &mut Draw) -> Option<Question> {
    let function = one(draw, &library.functions)?;
    let text = format!("How many options does the function {} have at present?", function.name);
    Some(Question::new(text, Answer::count(function.options.len()), vec![of_function(function, "options")]))
}

fn function_released(library: &Library, draw: &mut Draw) -> Option<Question> {
    let function = one(draw, &library.functions)?;
    let text = format!("On which date was the version released that added the function {}?", function.name);
    let date = of_version(library, function.since, "released");
    let question = Question::new(
        text,
        Answer::Date(library.versions[function.since].released),
        vec![of_function(function, "since"), date.clone()],
    );
    Some(question.or(vec![of_version(library, function.since, "changes"), date]))
}

/// Half of the options do not state their largest value.
fn maximum_of(option: &Setting) -> Answer {
    option.maximum.map_or(Answer::NotStated, number)
}

fn maximum(library: &Library, draw: &mut Draw) -> Option<Question> {
    let (function, option) = setting(library, draw, |_| true)?;
    let text = format!("What is the largest value of the option {} of {}?", option.name, function.name);
    Some(Question::new(text, maximum_of(option), vec![of_function(function, "whole")]))
}

fn default_before(library: &Library, draw: &mut Draw) -> Option<Question> {
    let (function, option) = setting(library, draw, |option| option.defaults.len() > 1)?;
    let (version, _) = *one(draw, &option.defaults[1..])?;
    let (before, set) = option.at(version - 1)?;
    let text = format!(
        "What was the default of the option {} of {} before version {} changed it?",
        option.name, function.name, library.versions[version].name
    );
    let question = Question::new(text, number(before), vec![of_version(library, version, "changes")]);
    Some(question.or(changes(library, set..=version - 1)))
}

fn added_count(library: &Library, draw: &mut Draw) -> Option<Question> {
    let version = draw.place(library.versions.len());
    let count = library.functions.iter().filter(|function| function.since == version).count();
    let text = format!("How many functions did version {} add?", library.versions[version].name);
    let each = library.functions.iter().map(|function| of_function(function, "since")).collect();
    let question = Question::new(text, Answer::count(count), vec![of_version(library, version, "changes")]);
    (count > 1).then(|| question.or(each))
}

/// A module, its function with most options, and the facts that prove it.
fn fullest<'a>(library: &'a Library, draw: &mut Draw) -> Option<(&'static str, &'a Function, Vec<Fact>)> {
    let module = draw.place(library.modules.len());
    let inside = || library.functions.iter().enumerate().filter(move |(_, function)| function.module == module);
    let fullest = largest(inside().map(|(at, function)| (at, function.options.len())))?;
    let mut facts = vec![Fact::of(&module_at(library.modules[module]), "functions")];
    facts.extend(inside().map(|(_, function)| of_function(function, "options")));
    Some((library.modules[module], library.functions.get(fullest)?, facts))
}

fn most_options(library: &Library, draw: &mut Draw) -> Option<Question> {
    let (module, function, facts) = fullest(library, draw)?;
    let text = format!("Which function of the module {module} has the most options at present?");
    Some(Question::new(text, Answer::text(&function.name), facts))
}

fn last_changed(library: &Library, draw: &mut Draw) -> Option<Question> {
    let last = library.versions.len() - 1;
    // Some versions after it have to be looked at.
    let changed =
        |option: &Setting| option.defaults.len() > 1 && option.defaults.last().is_some_and(|(at, _)| at + 2 <= last);
    let (function, option) = setting(library, draw, changed)?;
    let (version, _) = *option.defaults.last()?;
    let text = format!(
        "On which date was the version released that last changed the default of the option {} of {}?",
        option.name, function.name
    );
    let mut facts = changes(library, version..=last);
    facts.push(of_version(library, version, "released"));
    Some(Question::new(text, Answer::Date(library.versions[version].released), facts))
}

fn default_in(library: &Library, draw: &mut Draw) -> Option<Question> {
    let (function, option) = setting(library, draw, |option| option.defaults.len() > 1)?;
    let last = library.versions.len() - 1;
    let version = option.since + draw.place(last + 1 - option.since);
    let (value, set) = option.at(version)?;
    let next = option.next_change(version);
    // Neither the version itself nor the next one tells.
    if set == version || version + 1 >= next.unwrap_or(last) {
        return None;
    }
    let text = format!(
        "What was the default of the option {} of {} in version {}?",
        option.name, function.name, library.versions[version].name
    );
    let mut later = changes(library, version + 1..=next.unwrap_or(last));
    if next.is_none() {
        later.push(of_function(function, "options"));
    }
    Some(Question::new(text, number(value), changes(library, set..=version)).or(later))
}

fn most_options_maximum(library: &Library, draw: &mut Draw) -> Option<Question> {
    let (module, function, mut facts) = fullest(library, draw)?;
    let option = one(draw, &function.options)?;
    let text = format!(
        "What is the largest value of the option {} of the function of the module {module} that has the most options?",
        option.name
    );
    facts.push(of_function(function, "whole"));
    Some(Question::new(text, maximum_of(option), facts))
}
