//! Writes the pages of apps into files, one for each screen, so that a person can look at them:
//! `cargo run -p palestra-apps --example pages -- OUT environments/app/shop ...`

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::draw::draw;
use palestra_apps::html::{Frame, Method, PageRequest, PageResponse, TaskBar, respond, themed_page};
use palestra_apps::run::World;
use palestra_apps::screen::Viewer;

/// Pages of one app.
const PAGES_MAX: usize = 60;
/// Pages of one screen.
const OF_SCREEN_MAX: usize = 2;

#[expect(clippy::print_stderr, reason = "a program for people")]
fn main() {
    // With PAGES_DEFAULTS set to a folder, templates and style sheets of all apps are taken from there.
    let defaults = std::env::var("PAGES_DEFAULTS").ok();
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().expect("a folder for the pages"));
    for folder in arguments {
        let mut files = files(Path::new(&folder));
        for entry in defaults.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder")).flatten() {
            let name = format!("theme/{}", entry.file_name().to_string_lossy());
            files.entry(name).or_insert_with(|| std::fs::read_to_string(entry.path()).expect("a file"));
        }
        match App::load(&files) {
            Ok(app) => write(&app, &out),
            Err(faults) => faults.iter().for_each(|fault| eprintln!("{folder}: {fault}")),
        }
    }
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (folder, before) in [(folder.to_owned(), ""), (folder.join("theme"), "theme/")] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            if entry.path().is_file() {
                files.insert(name, std::fs::read_to_string(entry.path()).expect("a file"));
            }
        }
    }
    files
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]
fn write(app: &Arc<App>, out: &Path) {
    let instance = draw(app, 0, "train", 0, &|_| true).expect("a task");
    let mut world = World::begin(instance.beginning(1, instance.data.clone())).expect("a world");
    let out = out.join(&*app.name);
    std::fs::create_dir_all(out.join("theme")).expect("a folder");
    let frame = Frame { task: Some(TaskBar { text: &instance.text, answers: Vec::new() }), ..Frame::default() };
    let mut ways = VecDeque::from(["/".to_owned()]);
    let (mut seen, mut screens): (BTreeSet<String>, BTreeMap<String, usize>) = Default::default();
    while let Some(address) = ways.pop_front() {
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        let screen = path.split('/').nth(1).unwrap_or_default().to_owned();
        let count = screens.entry(screen.clone()).or_default();
        if seen.len() >= PAGES_MAX || *count >= OF_SCREEN_MAX || !seen.insert(address.clone()) {
            continue;
        }
        *count += 1;
        let mut viewer = Viewer::new();
        let request = PageRequest { method: Method::Get, path, query, form: &[] };
        let (_, answer) = respond(&mut viewer, &mut world, &request, &frame).expect("no fault of the definition");
        if let Err(wrong) = themed_page(&viewer, &world, &frame) {
            eprintln!("{address}: {wrong}");
        }
        let PageResponse::Html(page) = answer else { panic!("{address}: {answer:?}") };
        for (number, part) in page.split("href=\"/").skip(1).enumerate() {
            let link = part.split('"').next().unwrap_or_default();
            let link = format!("/{}", link.replace("&amp;", "&").replace("&#x2f;", "/"));
            if link.starts_with("/theme/") {
                asset(app, &link, &out);
            } else if number < 200 {
                ways.push_back(link);
            }
        }
        asset(app, "/theme/base.js", &out);
        asset(app, "/theme/app.js", &out);
        let name = if screen.is_empty() { "home".to_owned() } else { screen };
        let name = if *count > 1 { format!("{name}-{count}.html") } else { format!("{name}.html") };
        std::fs::write(out.join(name), page.replace("\"/theme/", "\"theme/")).expect("a page");
    }
    println!("{}: {} pages", app.name, seen.len());
}

fn asset(app: &App, link: &str, out: &Path) {
    let name = link.trim_start_matches("/theme/");
    if let Some(asset) = app.theme.asset(name) {
        std::fs::write(out.join("theme").join(name), &*asset.text).expect("an asset");
    }
}
