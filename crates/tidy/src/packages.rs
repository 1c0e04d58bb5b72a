//! Packages: which there are, and which may know which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::root;

/// Every package of the workspace, and the others of it that its library and programs may depend on. One that is missing here is
/// refused, and so is one that is not there any more.
pub(crate) const PACKAGES: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("state", &[]),
    ("pack", &[]),
    ("yaml", &[]),
    ("sandbox-agent", &[]),
    ("scripted-model", &["yaml"]),
    ("sqlite-worker", &[]),
    ("test-support", &["protocol"]),
    ("tidy", &[]),
    ("guide", &["pack"]),
    ("client", &["protocol"]),
    ("apps", &["pack", "state"]),
    ("sandbox", &["pack", "sandbox-agent"]),
    ("browser", &["sandbox"]),
    ("widgets", &[]),
    ("games", &["widgets"]),
    ("sites", &["widgets"]),
    ("workbench", &["protocol", "sandbox", "state", "yaml"]),
    ("sql", &["sqlite-worker", "state", "yaml"]),
    ("environment", &["protocol", "state"]),
    ("puzzles", &["environment", "pack", "protocol"]),
    (
        "families",
        &[
            "apps",
            "browser",
            "environment",
            "games",
            "pack",
            "protocol",
            "puzzles",
            "sandbox",
            "sites",
            "sql",
            "state",
            "widgets",
            "workbench",
            "yaml",
        ],
    ),
    ("store", &["protocol", "state"]),
    ("auth", &["protocol", "store"]),
    ("catalog", &["environment", "families", "protocol", "store"]),
    ("session", &["catalog", "environment", "protocol", "state", "store"]),
    ("jobs", &["auth", "protocol", "state", "store"]),
    ("model-calls", &["auth", "jobs", "protocol", "session", "store"]),
    ("worker", &["apps", "client", "environment", "families", "protocol"]),
    ("trainer", &["client", "protocol"]),
    ("trajectories", &["protocol"]),
    ("trainer-parity", &[]),
    (
        "",
        &[
            "apps",
            "auth",
            "browser",
            "catalog",
            "client",
            "environment",
            "families",
            "guide",
            "jobs",
            "model-calls",
            "protocol",
            "sandbox",
            "scripted-model",
            "session",
            "sql",
            "sqlite-worker",
            "state",
            "store",
            "trajectories",
            "workbench",
            "worker",
        ],
    ),
    (
        "load-tests",
        &["", "apps", "environment", "families", "protocol", "puzzles", "sandbox", "sql", "sqlite-worker", "store"],
    ),
];

/// Packages in which environments and their judges live: they get what they need as arguments.
pub(crate) const ENVIRONMENTS: &[&str] = &[
    "environment",
    "puzzles",
    "families",
    "apps",
    "browser",
    "widgets",
    "games",
    "sites",
    "workbench",
    "sandbox",
    "sql",
    "sqlite-worker",
];
/// Packages that they must not reach by any path: store, configuration, HTTP.
const OUT_OF_REACH: &[&str] = &[
    "palestra",
    "palestra-store",
    "palestra-auth",
    "palestra-catalog",
    "palestra-session",
    "palestra-jobs",
    "sqlx",
    "figment",
    "axum",
];

/// The packages of the workspace, as Cargo sees them.
pub(crate) struct Workspace {
    /// By name without `palestra-`; empty for the server's own.
    pub packages: BTreeMap<String, Package>,
    /// Which packages, of all there are, each depends on to be built: by whole names.
    pub uses: BTreeMap<String, BTreeSet<String>>,
}

/// A package of the workspace.
pub(crate) struct Package {
    /// Where its manifest lies.
    pub folder: PathBuf,
    /// The packages of the workspace that its library and programs depend on, by the same names.
    pub uses: BTreeSet<String>,
}

/// Asks Cargo.
pub(crate) fn workspace() -> Workspace {
    let mut cargo = Command::new(env!("CARGO"));
    // Of this platform alone: what others need may not be here.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    cargo.current_dir(root()).args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    cargo.args(["--filter-platform", &platform]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    read(&serde_json::from_slice(&output.stdout).unwrap())
}

/// Reads what `cargo metadata` says.
pub(crate) fn read(metadata: &Value) -> Workspace {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let kinds = |dependency: &Value| list(&dependency["dep_kinds"]);
        let built = list(&node["deps"])
            .into_iter()
            .filter(|dependency| kinds(dependency).iter().any(|kind| kind["kind"] != "dev"))
            .map(|dependency| names[&text(&dependency["pkg"])].clone());
        uses.entry(names[&text(&node["id"])].clone()).or_default().extend(built);
    }
    let members: BTreeSet<String> = list(&metadata["workspace_members"]).iter().map(text).collect();
    let packages = list(&metadata["packages"])
        .iter()
        .filter(|package| members.contains(&text(&package["id"])))
        .map(|package| {
            let name = text(&package["name"]);
            let folder = PathBuf::from(text(&package["manifest_path"])).parent().unwrap().to_owned();
            let ours = uses[&name].iter().filter_map(|used| short(used)).collect();
            (short(&name).unwrap_or(name), Package { folder, uses: ours })
        })
        .collect();
    Workspace { packages, uses }
}

fn short(name: &str) -> Option<String> {
    if name == "palestra" { Some(String::new()) } else { name.strip_prefix("palestra-").map(str::to_owned) }
}

/// Deviations from [`PACKAGES`].
pub(crate) fn strays(workspace: &Workspace) -> Vec<String> {
    let known: BTreeMap<&str, &[&str]> = PACKAGES.iter().copied().collect();
    let mut strays = Vec::new();
    for (name, package) in &workspace.packages {
        match known.get(name.as_str()) {
            None => strays.push(format!("palestra-{name} is not in the list of packages")),
            Some(may) => strays.extend(
                package
                    .uses
                    .iter()
                    .filter(|used| !may.contains(&used.as_str()))
                    .map(|used| format!("palestra-{name} may not depend on palestra-{used}")),
            ),
        }
    }
    let gone = known.keys().filter(|name| !workspace.packages.contains_key(**name));
    strays.extend(gone.map(|name| format!("there is no package palestra-{name}")));
    strays
}

/// Ways from a package of environments to what is out of its reach, as `a → b → c`.
pub(crate) fn reaches(workspace: &Workspace) -> Vec<String> {
    ENVIRONMENTS.iter().filter_map(|name| way(workspace, &format!("palestra-{name}"))).collect()
}

fn way(workspace: &Workspace, start: &str) -> Option<String> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = vec![start];
    while let Some(name) = waiting.pop() {
        for used in workspace.uses.get(name)? {
            if used == start || from.contains_key(used.as_str()) {
                continue;
            }
            from.insert(used, name);
            if OUT_OF_REACH.contains(&used.as_str()) {
                let back = std::iter::successors(Some(used.as_str()), |step| from.get(step).copied());
                let mut steps: Vec<&str> = back.collect();
                steps.reverse();
                return Some(steps.join(" → "));
            }
            waiting.push(used);
        }
    }
    None
}
