//! Pages of the documentation.

use super::history::Change;
use super::{Function, Library};
use crate::markup::{day, link, text};
use crate::names::slug;
use crate::page::{Draft, paged};
use crate::{Kind, Site};

/// Functions of one page of the reference.
const EACH: usize = 10;

pub(super) fn module_at(name: &str) -> String {
    format!("/modules/{name}")
}

pub(super) fn function_at(name: &str) -> String {
    format!("/functions/{}", slug(name))
}

pub(super) fn version_at(name: &str) -> String {
    format!("/versions/{name}")
}

pub(super) fn site(library: &Library) -> Site {
    let mut pages = vec![home(library), versions(library)];
    pages.extend(reference(library));
    pages.extend((0..library.modules.len()).map(|module| module_page(library, module)));
    pages.extend(library.functions.iter().map(|function| function_page(library, function)));
    pages.extend((0..library.versions.len()).map(|version| version_page(library, version)));
    let sections = [("/", "Guide"), ("/reference", "Reference"), ("/versions", "Versions")];
    Site::new(Kind::Documentation, &format!("{} documentation", library.name), &sections, pages)
}

fn function_link(function: &Function) -> String {
    link(&function_at(&function.name), &function.name)
}

fn version_link(library: &Library, version: usize) -> String {
    let name = library.versions[version].name;
    link(&version_at(name), name)
}

fn module_link(library: &Library, module: usize) -> String {
    link(&module_at(library.modules[module]), library.modules[module])
}

fn home(library: &Library) -> Draft {
    let mut draft = Draft::new("/", format!("Guide to {}", library.name));
    draft.paragraph(&format!(
        "{} is a library of small functions. Each is described in the {}; {} tell what changed.",
        library.name,
        link("/reference", "reference of all functions"),
        link("/versions", "the notes on versions"),
    ));
    draft.heading("Modules");
    draft.list(&(0..library.modules.len()).map(|module| module_link(library, module)).collect::<Vec<_>>());
    draft
}

fn reference(library: &Library) -> Vec<Draft> {
    let mut sorted: Vec<&Function> = library.functions.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    paged(("/reference", "Reference"), (&sorted, EACH), &[("/", "Guide")], |draft, part| {
        let rows = part.iter().map(|function| {
            draft.states(&function_at(&function.name), &["module"]);
            vec![function_link(function), module_link(library, function.module)]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        draft.table("All functions", &["Function", "Module"], &rows);
    })
}

fn module_page(library: &Library, module: usize) -> Draft {
    let name = library.modules[module];
    let at = module_at(name);
    let mut draft = Draft::new(at.clone(), format!("Module {name}")).under("/reference", "Reference");
    draft.states(&at, &["functions"]);
    let functions = library.functions.iter().filter(|function| function.module == module);
    let rows = functions.map(|function| {
        draft.states(&function_at(&function.name), &["since"]);
        vec![function_link(function), version_link(library, function.since)]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("Functions of the module", &["Function", "Since"], &rows);
    draft
}

fn function_page(library: &Library, function: &Function) -> Draft {
    let at = function_at(&function.name);
    let mut draft = Draft::new(at.clone(), function.name.clone()).under("/reference", "Reference");
    draft.states(&at, &["whole", "module", "since", "options"]);
    draft.properties(&[
        ("Module", module_link(library, function.module)),
        ("Since", version_link(library, function.since)),
        ("Returns", "nothing".to_owned()),
    ]);
    draft.heading("Options");
    let rows = function.options.iter().map(|option| {
        vec![
            format!("<code>{}</code>", option.name),
            "integer".to_owned(),
            format!("<code>{}</code>", option.default()),
            version_link(library, option.since),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("Present defaults", &["Option", "Type", "Default", "Since"], &rows);
    for option in &function.options {
        draft.main.push_str(&format!("<h3>{}</h3>\n", text(option.name)));
        match option.maximum {
            Some(maximum) => draft.paragraph(&format!("A whole number. The largest value is <code>{maximum}</code>.")),
            None => draft.paragraph("A whole number."),
        }
    }
    draft
}

fn versions(library: &Library) -> Draft {
    let mut draft = Draft::new("/versions", "Versions").under("/", "Guide");
    draft.states("/versions", &["list"]);
    let rows = (0..library.versions.len()).rev().map(|version| {
        draft.states(&version_at(library.versions[version].name), &["released"]);
        vec![version_link(library, version), day(library.versions[version].released)]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    draft.table("The latest version first", &["Version", "Released"], &rows);
    draft
}

fn version_page(library: &Library, number: usize) -> Draft {
    let version = &library.versions[number];
    let at = version_at(version.name);
    let mut draft = Draft::new(at.clone(), format!("Version {}", version.name)).under("/versions", "Versions");
    draft.states(&at, &["released", "changes"]);
    draft.properties(&[("Released", day(version.released))]);
    draft.heading("Changes");
    let changes: Vec<String> = library.changes(number).iter().map(change).collect();
    match changes.is_empty() {
        true => draft.paragraph("Faults were mended."),
        false => draft.list(&changes),
    }
    draft
}

fn change(change: &Change<'_>) -> String {
    match change {
        Change::FunctionAdded(function) => format!("Added the function {}.", function_link(function)),
        Change::OptionAdded(function, option) => format!(
            "Added the option <code>{}</code> to {}, with the default <code>{}</code>.",
            option.name,
            function_link(function),
            option.defaults.first().map_or(0, |(_, value)| *value)
        ),
        Change::DefaultChanged { function, option, from, to } => format!(
            "Changed the default of <code>{}</code> of {} from <code>{from}</code> to <code>{to}</code>.",
            option.name,
            function_link(function)
        ),
    }
}
