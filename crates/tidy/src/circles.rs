//! Circles between modules of one package, by what they import and name.
//!
//! Every path of a module is resolved to the module where its item lives, through re-exports. A dependency counts between the two
//! modules below the nearest module that holds both: what a parent and its own children know of each other is no circle. Tests are
//! left out, and so are paths inside macro calls other than those that the parser of Rust reads as paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use quote::ToTokens as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::collect;

/// A module by its path below the package's root; empty for the root.
type Module = Vec<String>;

/// Deepest chain of re-exports that is followed.
const REEXPORTS_MAX: usize = 8;

/// The circles of the package whose sources lie in `folder`, each with the imports that tie it.
pub(crate) fn circles(folder: &Path) -> Vec<String> {
    let modules = read(folder);
    let names = modules.keys().cloned().collect::<BTreeSet<_>>();
    // Below each module: which child uses which other child, and by what.
    let mut uses: BTreeMap<Module, BTreeMap<(String, String), String>> = BTreeMap::new();
    for (module, found) in &modules {
        for path in &found.paths {
            let Some(path) = absolute(module, path, &names) else { continue };
            let target = home(&path, &modules, &names, 0);
            let common = module.iter().zip(&target).take_while(|(left, right)| left == right).count();
            let (Some(from), Some(to)) = (module.get(common), target.get(common)) else { continue };
            let tie = format!("{} names {}", module.join("::"), path.join("::"));
            uses.entry(target[..common].to_vec()).or_default().entry((from.clone(), to.clone())).or_insert(tie);
        }
    }
    uses.iter().flat_map(|(parent, edges)| circles_below(parent, edges)).collect()
}

fn circles_below(parent: &Module, edges: &BTreeMap<(String, String), String>) -> Vec<String> {
    let graph: DiGraphMap<&str, ()> = edges.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let mut found = Vec::new();
    for circle in tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1) {
        let inside = |name: &String| circle.contains(&name.as_str());
        let ties = edges.iter().filter(|((from, to), _)| inside(from) && inside(to)).map(|(_, tie)| tie.as_str());
        let mut members = circle.clone();
        members.sort_unstable();
        let place = if parent.is_empty() { "the package".to_owned() } else { parent.join("::") };
        let ties = ties.collect::<Vec<_>>().join("\n    ");
        found.push(format!("{place}: {} know each other:\n    {ties}", members.join(", ")));
    }
    found
}

/// Names in a module.
#[derive(Default)]
struct Found {
    /// As they are written, but for `use` trees, which are unfolded.
    paths: Vec<Vec<String>>,
    /// Exports from elsewhere, by the name that each gets.
    reexports: BTreeMap<String, Vec<String>>,
    /// Modules inside it that are for tests alone.
    tests: BTreeSet<String>,
}

fn read(folder: &Path) -> BTreeMap<Module, Found> {
    let mut paths = Vec::new();
    collect(folder, "rs", &mut paths);
    let mut modules = BTreeMap::new();
    for path in paths {
        let inside = path.strip_prefix(folder).unwrap().with_extension("");
        let mut module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|last| last == "mod" || last == "lib") {
            module.pop();
        }
        // A program's root beside a library is another crate.
        if module == ["main"] && folder.join("lib.rs").exists() {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut found = Found::default();
        file.items.iter().for_each(|item| found.visit_item(item));
        modules.insert(module, found);
    }
    let tests: Vec<Module> = modules
        .iter()
        .flat_map(|(module, found)| found.tests.iter().map(|test| [module.clone(), vec![test.clone()]].concat()))
        .collect();
    modules.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    // A folder whose module has no file of its own is a module all the same.
    for module in modules.keys().cloned().collect::<Vec<_>>() {
        for length in 0..module.len() {
            modules.entry(module[..length].to_vec()).or_default();
        }
    }
    modules
}

impl Found {
    fn import(&mut self, tree: &UseTree, before: &[String], public: bool) {
        let step = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &step(&path.ident), public),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.import(item, before, public)),
            UseTree::Glob(_) => self.paths.push(before.to_vec()),
            UseTree::Name(name) => self.imported(step(&name.ident), name.ident.to_string(), public),
            UseTree::Rename(name) => self.imported(step(&name.ident), name.rename.to_string(), public),
        }
    }

    fn imported(&mut self, mut path: Vec<String>, name: String, public: bool) {
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if public {
            self.reexports.insert(name, path.clone());
        }
        self.paths.push(path);
    }
}

pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &&Attribute| {
        let written = attribute.to_token_stream().to_string().replace(' ', "");
        written.starts_with("#[cfg(test)") || written.starts_with("#[cfg(all(test") || written == "#[test]"
    };
    attributes.iter().any(|attribute| is_test(&attribute))
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(module) if is_for_tests(&module.attrs) => {
                self.tests.insert(module.ident.to_string());
            }
            Item::Fn(function) if is_for_tests(&function.attrs) => {}
            Item::Use(import) if is_for_tests(&import.attrs) => {}
            Item::Use(import) => {
                let public = !matches!(import.vis, syn::Visibility::Inherited);
                self.import(&import.tree, &[], public);
            }
            other => visit::visit_item(self, other),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

/// A path below the package's root; `None` where it leads out of the package, or to something local.
fn absolute(module: &[String], path: &[String], names: &BTreeSet<Module>) -> Option<Module> {
    let first = path.first()?;
    match first.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let up = path.iter().take_while(|step| *step == "super").count();
            let above = module.len().checked_sub(up)?;
            Some([&module[..above], &path[up..]].concat())
        }
        _ => {
            let child = [module, std::slice::from_ref(first)].concat();
            names.contains(&child).then(|| [module, path].concat())
        }
    }
}

/// The module where the item of a path lives.
fn home(path: &[String], modules: &BTreeMap<Module, Found>, names: &BTreeSet<Module>, followed: usize) -> Module {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length])).unwrap_or_default();
    let module = path[..length].to_vec();
    let elsewhere = path.get(length).and_then(|item| modules.get(&module)?.reexports.get(item));
    let Some(elsewhere) = elsewhere.filter(|_| followed < REEXPORTS_MAX) else { return module };
    match absolute(&module, elsewhere, names) {
        Some(next) => home(&[next, path[length + 1..].to_vec()].concat(), modules, names, followed + 1),
        None => module,
    }
}
