//! The documentation of a library: modules, functions with options, and versions that add functions and options and change defaults.

mod history;
mod pages;
mod questions;

use jiff::civil::Date;
use palestra_widgets::Draw;

use crate::Site;
use crate::names::later;
use crate::question::{Row, World};

const LIBRARIES: [&str; 6] = ["ambrel", "corvane", "fenwick", "morrow", "quillet", "tesset"];
const MODULES: [&str; 5] = ["cache", "files", "network", "tables", "text"];
const VERBS: [&str; 7] = ["close", "copy", "find", "merge", "open", "split", "write"];
const NOUNS: [&str; 7] = ["archive", "column", "index", "page", "record", "stream", "window"];
const OPTIONS: [&str; 12] =
    ["attempts", "batch", "buffer", "depth", "gap", "height", "limit", "margin", "offset", "pause", "step", "width"];
const VERSIONS: [&str; 8] = ["1.0", "1.1", "1.2", "2.0", "2.1", "2.2", "3.0", "3.1"];

/// Facts of a library.
pub(crate) struct Library {
    name: &'static str,
    modules: Vec<&'static str>,
    versions: Vec<Version>,
    functions: Vec<Function>,
}

struct Version {
    name: &'static str,
    released: Date,
}

struct Function {
    name: String,
    module: usize,
    /// The version that added it.
    since: usize,
    options: Vec<Setting>,
}

/// An option of a function, which is a number.
struct Setting {
    name: &'static str,
    /// The version that added it.
    since: usize,
    /// Its default from each version on that set one, in order; the first is that of `since`.
    defaults: Vec<(usize, i64)>,
    /// The largest value; not stated of every option.
    maximum: Option<i64>,
}

impl Setting {
    /// The present default.
    fn default(&self) -> i64 {
        self.defaults.last().map_or(0, |(_, value)| *value)
    }
}

impl World for Library {
    fn draw(draw: &mut Draw) -> Self {
        let level = draw.level;
        let (modules, versions, functions) =
            (level.of([2, 3, 4, 5]), level.of([3, 4, 6, 8]), level.of([6, 10, 16, 24]));
        let days = draw_days(draw, versions);
        let named = VERSIONS.into_iter().zip(days).map(|(name, released)| Version { name, released });
        let versions: Vec<Version> = named.collect();
        let all: Vec<String> =
            VERBS.iter().flat_map(|verb| NOUNS.iter().map(move |noun| format!("{verb}_{noun}"))).collect();
        let functions = draw
            .some(functions, &all)
            .into_iter()
            .enumerate()
            .map(|(place, name)| {
                let since = draw.place(versions.len());
                let count = usize::try_from(draw.number(1..=level.of([3, 4, 5, 6]))).unwrap_or(1);
                let options = draw.some(count, &OPTIONS);
                let options = options.into_iter().map(|name| draw_setting(draw, name, since, versions.len()));
                Function { name, module: place % modules, since, options: options.collect() }
            })
            .collect();
        Self { name: draw.pick(&LIBRARIES), modules: draw.some(modules, &MODULES), versions, functions }
    }

    fn rows() -> Vec<Row<Self>> {
        questions::rows()
    }

    fn site(&self) -> Site {
        pages::site(self)
    }
}

/// So many days, in order.
fn draw_days(draw: &mut Draw, count: usize) -> Vec<Date> {
    let mut day = jiff::civil::date(2024, 1, 1);
    let days = std::iter::repeat_with(|| {
        day = later(day, draw.number(40..=330));
        day
    });
    days.take(count).collect()
}

fn draw_setting(draw: &mut Draw, name: &'static str, function_since: usize, versions: usize) -> Setting {
    let since = if draw.once_in(2) { function_since } else { function_since + draw.place(versions - function_since) };
    let mut defaults = vec![(since, draw.number(1..=99))];
    for version in since + 1..versions {
        if draw.once_in(4) {
            let before = defaults.last().map_or(0, |(_, value)| *value);
            defaults.push((version, before + draw.number(1..=60)));
        }
    }
    let highest = defaults.last().map_or(0, |(_, value)| *value);
    let maximum = (!draw.once_in(2)).then(|| highest + draw.number(1..=900));
    Setting { name, since, defaults, maximum }
}
