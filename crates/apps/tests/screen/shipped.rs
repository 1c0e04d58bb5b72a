//! The apps that come with the project: their tasks are solved on screens and in pages as by tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use palestra_apps::app::screen::{Details, Widget, WidgetKind};
use palestra_apps::app::{App, Callable, Role};
use palestra_apps::draw::draw;
use palestra_apps::run::World;
use palestra_apps::screen::{Viewer, pilot};
use palestra_apps::task::instance::Instance;

use crate::browser::Browser;
use crate::fixture::{begin, messages};
use crate::hostile::walk;

/// Every shipped app.
pub(crate) fn shipped() -> Vec<Arc<App>> {
    let folder = palestra_test_support::workspace().join("environments/app");
    let folders = std::fs::read_dir(folder).expect("the folder of apps").map(|entry| entry.expect("an entry").path());
    let load = |files| App::load(&files).unwrap_or_else(|faults| panic!("{}", messages(&faults)));
    let mut apps: Vec<_> = folders.map(|folder| load(palestra_test_support::texts(&folder))).collect();
    apps.sort_by(|left, right| left.name.cmp(&right.name));
    apps
}

#[test]
fn solutions_of_every_second_app_reach_the_same_data_as_tools_on_screens_and_in_pages() {
    solve_all(&mut shipped().into_iter().step_by(2));
}

#[test]
fn solutions_of_the_other_apps_reach_the_same_data_as_tools_on_screens_and_in_pages() {
    solve_all(&mut shipped().into_iter().skip(1).step_by(2));
}

fn solve_all(apps: &mut dyn Iterator<Item = Arc<App>>) {
    let (mut tasks, mut lost) = (0, Vec::new());
    for app in apps {
        for template in 0..app.templates.len() {
            for seed in 0..2 {
                let instance = draw(&app, template, "train", seed, &|_| true).expect("a task");
                tasks += 1;
                if let Err(reason) = solve(&app, &instance) {
                    lost.push(format!("{}/{}: {reason}", app.name, app.templates[template].name));
                }
            }
        }
    }
    assert!(lost.is_empty(), "{} of {tasks}\n{}", lost.len(), lost.join("\n"));
    assert!(tasks >= 100, "{tasks} tasks");
}

#[test]
fn every_action_and_view_of_the_agent_is_on_a_screen_and_nothing_crashes_there() {
    for (seed, app) in (0..).zip(shipped()) {
        let (mut actions, mut views) = (BTreeSet::new(), BTreeSet::new());
        for screen in &app.screens.screens {
            collect(&screen.body, &mut actions, &mut views);
        }
        for (place, action) in app.actions.iter().enumerate().filter(|(_, action)| action.who.contains(&Role::AGENT)) {
            assert!(actions.contains(&place), "{}: {}", app.name, action.name);
        }
        for (place, view) in app.views.iter().enumerate().filter(|(_, view)| view.who.contains(&Role::AGENT)) {
            assert!(views.contains(&place), "{}: {}", app.name, view.name);
        }
        let (written, _) = walk(begin(&app, 0), seed, 250);
        assert!(written > 0, "{}: nothing was done", app.name);
    }
}

fn collect(body: &[Widget], actions: &mut BTreeSet<usize>, views: &mut BTreeSet<usize>) {
    for widget in body {
        match &widget.kind {
            WidgetKind::Form(form) | WidgetKind::Button(form) => {
                actions.insert(form.action);
            }
            WidgetKind::List(list) => {
                views.insert(list.view);
                collect(&list.row, actions, views);
            }
            WidgetKind::Tabs(bodies) | WidgetKind::Steps(bodies) => {
                bodies.iter().for_each(|(_, body)| collect(body, actions, views));
            }
            WidgetKind::Dialog { body, .. } => collect(body, actions, views),
            WidgetKind::Detail { shows: Details::View(view), .. } => {
                views.insert(*view);
            }
            _ => {}
        }
    }
}

fn solve(app: &Arc<App>, instance: &Arc<Instance>) -> Result<(), String> {
    let beginning = instance.beginning(1, instance.data.clone());
    let mut tools = World::begin(beginning).expect("a world");
    let (mut screens, mut viewer) = (tools.clone(), Viewer::new());
    let mut browser = Browser::new(tools.clone(), Viewer::new());
    for call in instance.solution() {
        match app.calls.get(&call.name) {
            None if &*call.name == "wait" => {
                let seconds = call.arguments["seconds"].as_i64().expect("seconds");
                for world in [&mut tools, &mut screens, &mut browser.world] {
                    world.wait(seconds).expect("time passes");
                }
            }
            None => {}
            Some(Callable::View(_)) => {
                tools.call(Role::AGENT, &call.name, &call.arguments).expect("it is read");
            }
            Some(Callable::Action(_)) => {
                tools.call(Role::AGENT, &call.name, &call.arguments).expect("it is done");
                let played = pilot::play(&mut screens, &mut viewer, &call.name, &call.arguments)
                    .map_err(|lost| format!("{lost}: {:?}", call.arguments))?;
                played.actions.iter().for_each(|action| browser.perform(action));
            }
        }
        let digest = tools.data().document().digest();
        if screens.data().document().digest() != digest {
            return Err(format!("{} {:?} leads elsewhere on screens", call.name, call.arguments));
        }
        if browser.world.data().document().digest() != digest {
            return Err(format!("{} {:?} leads elsewhere in pages", call.name, call.arguments));
        }
    }
    Ok(())
}
