//! Worlds: databases that are made from a seed, with made-up people, goods and events. The same seed gives the same rows on both
//! engines; other seeds give other rows under the same schema.

mod airline;
mod bank;
mod clinic;
mod courier;
mod draw;
mod hr;
mod incident;
mod layout;
mod legacy;
mod library;
mod rules;
mod shop;
mod warehouse;
mod words;

use std::collections::BTreeMap;

pub use draw::{Draw, later};
pub use layout::Need;

use crate::dataset::Dataset;
use crate::task::Data;
use crate::value::Value;

/// Sizes and switches by name.
pub type Settings = BTreeMap<String, i64>;

/// Something that is so in a world, as named values: of which a template makes a question.
pub type Fact = BTreeMap<String, Value>;

/// A world that was made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// Its tables and rows.
    pub dataset: Dataset,
    /// Facts about it, by kind. Known to judges alone.
    pub facts: BTreeMap<String, Vec<Fact>>,
}

/// Makes worlds of one schema.
#[derive(Debug, Clone, Copy)]
pub struct Maker {
    /// Its name.
    pub name: &'static str,
    /// Settings that it understands, with the least, the usual and the largest value.
    pub settings: &'static [(&'static str, i64, i64, i64)],
    /// Makes one. The settings are complete and within their bounds.
    pub make: fn(&mut Draw, &Settings) -> World,
}

/// Every world.
pub const WORLDS: &[Maker] = &[
    airline::MAKER,
    bank::MAKER,
    clinic::MAKER,
    courier::MAKER,
    hr::MAKER,
    incident::MAKER,
    legacy::MAKER,
    library::MAKER,
    shop::MAKER,
    warehouse::MAKER,
];

/// Makes the world that a task names.
///
/// # Errors
/// In words, when there is no such world or setting, or a setting is out of bounds.
pub fn make(data: &Data) -> Result<World, String> {
    let Data::World { world, seed, settings } = data else {
        return Err("only worlds are made from seeds".to_owned());
    };
    let Some(maker) = WORLDS.iter().find(|maker| maker.name == world) else {
        let names: Vec<&str> = WORLDS.iter().map(|maker| maker.name).collect();
        return Err(format!("there is no world {world:?}; there are {}", names.join(", ")));
    };
    let mut complete: Settings =
        maker.settings.iter().map(|(name, _, usual, _)| ((*name).to_owned(), *usual)).collect();
    for (name, value) in settings {
        let Some((_, least, _, largest)) = maker.settings.iter().find(|(known, ..)| known == name) else {
            return Err(format!("the world {world:?} has no setting {name:?}"));
        };
        if !(*least..=*largest).contains(value) {
            return Err(format!("{name} of the world {world:?} is from {least} to {largest}, not {value}"));
        }
        complete.insert(name.clone(), *value);
    }
    Ok((maker.make)(&mut Draw::of(&["world", world, &seed.to_string()]), &complete))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(world: &str, seed: u64) -> Data {
        Data::World { world: world.to_owned(), seed, settings: Settings::new() }
    }

    #[test]
    fn a_seed_gives_one_world_and_another_seed_other_rows_of_the_same_schema() {
        for maker in WORLDS {
            let one = make(&data(maker.name, 1)).expect("a world");
            assert_eq!(one, make(&data(maker.name, 1)).expect("a world"), "{}", maker.name);
            let other = make(&data(maker.name, 2)).expect("a world");
            assert_ne!(one, other, "{}", maker.name);
            let schema = |world: &World| {
                let bare = |table: &crate::dataset::Table| crate::dataset::Table { rows: Vec::new(), ..table.clone() };
                world.dataset.tables.iter().map(bare).collect::<Vec<_>>()
            };
            assert_eq!(schema(&one), schema(&other), "{}", maker.name);
        }
    }

    #[test]
    fn unknown_worlds_and_settings_are_named() {
        let says = |data: &Data| make(data).expect_err("a fault");
        assert!(says(&data("atlantis", 1)).contains("shop"));
        let with = |name: &str, value| Data::World {
            world: "shop".to_owned(),
            seed: 1,
            settings: Settings::from([(name.to_owned(), value)]),
        };
        assert!(says(&with("moons", 1)).contains("moons"));
        assert!(says(&with("orders", 1_000_000)).contains("4000"));
        assert!(says(&Data::Stored("x".to_owned())).contains("worlds"));
    }
}
