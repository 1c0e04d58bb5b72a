//! The draws of every shipped app, audited: none shows a fault, and no value is lost. `PALESTRA_APP_DRAWS` says how many draws are
//! looked at of each template; `palestra check` looks at a thousand.

use std::collections::BTreeSet;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::check::{Effort, check};

/// Draws of each template, unless more are asked for: the long form looks at a thousand.
const DRAWS: u64 = 8;

fn folder() -> std::path::PathBuf {
    palestra_test_support::workspace().join("environments/app")
}

fn load(name: &str) -> Arc<App> {
    let files = palestra_test_support::texts(&folder().join(name));
    App::load(&files).unwrap_or_else(|faults| panic!("{name}: {faults:?}"))
}

fn audit(name: &str) {
    let asked = std::env::var("PALESTRA_APP_DRAWS").ok();
    let draws = asked.map_or(DRAWS, |draws| draws.parse().expect("PALESTRA_APP_DRAWS is a number"));
    let report = check(&load(name), Effort { seeds: 0, calls: 0, draws });
    assert_eq!(report.failures, [""; 0], "{name}");
    for (template, figures) in &report.templates {
        assert_eq!(figures.draws.made, draws, "{name} {template}");
        let again: u64 = figures.draws.again.values().sum();
        assert_eq!(figures.draws.accepted + again, draws, "{name} {template}");
    }
}

macro_rules! audits {
    ($($name:ident),*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            audit(stringify!($name));
        })*
    };
}

audits!(bank, calendar, chat, files, helpdesk, mail, phone, retail, sheet, shop, travel, workspace);

#[test]
fn none_is_left_out() {
    let entries = std::fs::read_dir(folder()).expect("the shipped apps").map(|entry| entry.expect("a folder").path());
    let shipped: BTreeSet<String> = entries
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(shipped, NAMES.iter().map(|name| (*name).to_owned()).collect());
}
