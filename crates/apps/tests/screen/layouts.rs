//! Rows by day, by value and below one another.

use palestra_apps::run::World;
use palestra_apps::screen::{AriaRole, Element, Viewer};

use crate::fixture::{act, begin, click, load, messages, tree};

const PLANNER: &str = r#"
app: planner
version: 1
about: Plans.
tz: Europe/Paris
start: "2031-05-05T09:00"
tables:
  job: {id: "J{3}", cols: {name: text unique, kind: enum open busy done, due: instant, above: opt ref job}}
seed:
  job:
    rows:
      - {name: "'roof'", kind: "'done'", due: "instant('2031-05-07T23:30')"}
      - {name: "'wall'", kind: "'open'", due: "instant('2031-05-06T00:30')", above: "one(job, j, j.name == 'roof')"}
      - {name: "'door'", kind: "'open'", due: "instant('2031-05-07T08:00')", above: "one(job, j, j.name == 'wall')"}
      - {name: "'moat'", kind: "'open'", due: "instant('2031-05-06T23:59')"}
views: {jobs: {from: job, sort: [due]}}
actions:
  close: {params: {job: ref job}, effects: [{update: {row: job, set: {kind: "'done'"}}}]}
  place: {params: {job: ref job, above: ref job}, effects: [{update: {row: job, set: {above: above}}}]}
screens:
  days:  {title: Days, body: [{calendar: jobs, by: due}]}
  board: {title: Board, body: [{board: jobs, by: kind, row: [{button: close, fix: {job: row}, label: "Close ${row.name}"}]}]}
  tree:  {title: Tree, body: [{tree: jobs, by: above}, {form: place}]}
"#;

/// The names of the rows, each group or parent before what is in it.
fn outline(element: &Element) -> String {
    let inner = element.children.iter().filter(|child| matches!(child.role, AriaRole::Group | AriaRole::Listitem));
    let inner: Vec<String> = inner.map(outline).collect();
    let name = element.children.iter().find(|child| child.name == "Name").and_then(|cell| cell.value.clone());
    let name = name.unwrap_or_else(|| element.name.clone());
    if inner.is_empty() { name } else { format!("{name}({})", inner.join(" ")) }
}

fn seen(world: &mut World, screen: &str) -> String {
    let mut viewer = Viewer::new();
    act(&mut viewer, world, &click(&format!("app-nav/{screen}")));
    let shown = tree(&viewer, world);
    outline(shown.all().into_iter().find(|element| element.role == AriaRole::List).expect("a list"))
}

#[test]
fn rows_are_laid_out_as_the_screen_says() {
    let app = load(PLANNER).unwrap_or_else(|faults| panic!("{}", messages(&faults)));
    let mut world = begin(&app, 0);
    assert_eq!(seen(&mut world, "days"), "Jobs(2031-05-06(wall moat) 2031-05-07(door roof))");
    assert_eq!(seen(&mut world, "board"), "Jobs(open(wall moat door) done(roof))");
    assert_eq!(seen(&mut world, "tree"), "Jobs(moat roof(wall(door)))");

    let mut viewer = Viewer::new();
    act(&mut viewer, &mut world, &click("app-nav/board"));
    let button = tree(&viewer, &world)
        .all()
        .into_iter()
        .find(|element| element.name == "Close moat")
        .map(|element| element.id.to_string());
    act(&mut viewer, &mut world, &click(&button.expect("a button")));
    assert_eq!(seen(&mut world, "board"), "Jobs(open(wall door) done(moat roof))");

    let id = |name: &str| {
        let rows = world.data().document().to_value()["job"].as_object().expect("rows").clone();
        rows.into_iter().find(|(_, row)| row["name"] == name).expect("a row").0
    };
    let circle = [("job".to_owned(), id("roof").into()), ("above".to_owned(), id("door").into())];
    let circle = circle.into_iter().collect();
    world.call(palestra_apps::app::Role::AGENT, "place", &circle).expect("it is placed");
    let rows = seen(&mut world, "tree");
    assert!(["roof", "wall", "door", "moat"].iter().all(|name| rows.matches(name).count() == 1), "{rows}");
}
