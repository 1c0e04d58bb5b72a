//! The same calls as tools, on screens and in pages, lead to the same data.

use palestra_apps::app::Role;
use palestra_apps::run::{CallError, World};
use palestra_apps::screen::{Viewer, pilot};

use crate::browser::Browser;
use crate::calls::{call, random};
use crate::fixture::{made, own};

const TASKS: u64 = 100;
const CALLS: usize = 4;

#[test]
fn tools_screens_and_pages_reach_the_same_data_where_the_engine_made_the_screens() {
    compare(&made());
}

#[test]
fn tools_screens_and_pages_reach_the_same_data_on_screens_of_a_definition() {
    compare(&own());
}

fn compare(beginning: &World) {
    let (mut written, mut refused) = (0, 0);
    for task in 0..TASKS {
        let mut random = random(task);
        let (mut tools, mut screens) = (beginning.clone(), beginning.clone());
        let mut viewer = Viewer::new();
        let mut browser = Browser::new(beginning.clone(), Viewer::new());
        for _ in 0..CALLS {
            let (name, arguments) = call(&tools, &mut random);
            let answer = tools.call(Role::AGENT, name, &arguments);
            let played = pilot::play(&mut screens, &mut viewer, name, &arguments)
                .unwrap_or_else(|lost| panic!("task {task}: {lost}: {arguments:?}"));
            let messages = match &answer {
                Ok(_) => None,
                Err(CallError::Raised(raised)) => Some(&raised.code),
                Err(crashed) => panic!("{crashed}"),
            };
            assert_eq!(played.shown.error.as_ref().map(|error| &error.code), messages, "{name} {arguments:?}");
            if messages.is_none() {
                written += 1;
            } else {
                refused += 1;
            }
            played.actions.iter().for_each(|action| browser.perform(action));
            let digest = tools.data().document().digest();
            assert_eq!(screens.data().document().digest(), digest, "{name} {arguments:?} by {:?}", played.actions);
            assert_eq!(browser.world.data().document().digest(), digest, "{name} {arguments:?} in pages");
            assert_eq!((screens.now(), browser.world.now()), (tools.now(), tools.now()));
        }
    }
    assert!(written > 200 && refused > 20, "{written} calls were made and {refused} refused");
}
