//! What is on the screens.

use palestra_apps::screen::Viewer;

use crate::fixture::{act, click, made, own, tree};

#[test]
fn smoke() {
    for mut world in [made(), own()] {
        let mut viewer = Viewer::new();
        println!("{}", tree(&viewer, &world));
        act(&mut viewer, &mut world, &click("app-nav/tools"));
        let shown = tree(&viewer, &world);
        println!("{shown}");
        let open = shown.all().into_iter().find(|element| element.id.ends_with("/open")).expect("a row").id.to_string();
        act(&mut viewer, &mut world, &click(&open));
        println!("{}", tree(&viewer, &world));
        println!("{}", viewer.document(&world).to_value());
    }
}
