//! Objects with properties, and what questions about them tell.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use palestra_environment::draws::{Draws, Requirement};

/// Names of objects; any of them may have any properties.
const NAMES: [&str; 72] = [
    "anchor", "apron", "badge", "banner", "barrel", "basket", "bell", "bench", "blanket", "bottle", "bowl", "brush",
    "bucket", "button", "cable", "candle", "carpet", "chain", "chair", "clock", "comb", "crate", "crown", "cup",
    "curtain", "desk", "door", "drum", "fan", "fence", "flag", "flute", "fork", "frame", "gate", "glove", "hammer",
    "hat", "helmet", "hook", "jar", "kettle", "key", "kite", "knife", "ladder", "lamp", "lantern", "lock", "mask",
    "mirror", "mug", "nail", "needle", "oven", "pen", "pillow", "pipe", "plate", "pot", "ring", "rope", "saddle",
    "scarf", "shelf", "spoon", "stool", "table", "tent", "umbrella", "vase", "wheel",
];

/// Names of the properties, with the values that each can have. No value is one of two properties.
const PROPERTIES: [(&str, [&str; 5]); 8] = [
    ("color", ["red", "blue", "green", "yellow", "white"]),
    ("material", ["wood", "iron", "glass", "leather", "plastic"]),
    ("size", ["tiny", "small", "medium", "large", "huge"]),
    ("shape", ["round", "square", "flat", "curved", "pointed"]),
    ("age", ["new", "recent", "old", "antique", "ancient"]),
    ("place", ["kitchen", "garden", "attic", "cellar", "garage"]),
    ("origin", ["Chile", "Egypt", "Norway", "Japan", "Kenya"]),
    ("surface", ["rough", "smooth", "striped", "spotted", "polished"]),
];

/// Properties that the objects of a problem have.
const PROPERTIES_CHOSEN: usize = 4;

/// Number of times that properties are drawn for an object, as they may be those of another one.
const DRAWS_PER_OBJECT: usize = 5;

/// The object differs from those before.
static NEW: Requirement = Requirement::new("new", "the object differs from those before", 0.2);

/// Objects with properties, at most 64 of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Objects {
    pub(super) names: Vec<String>,
    pub(super) properties: Vec<Property>,
    /// For each object the number of its value of each property.
    pub(super) rows: Vec<Vec<u8>>,
}

/// A property.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

/// Question for one of some values of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) property: usize,
    /// A bit for each value.
    values: u8,
}

impl Query {
    /// The numbers of the values.
    pub(super) fn values(self) -> impl Iterator<Item = u8> {
        (0..8).filter(move |value| self.values >> value & 1 == 1)
    }
}

impl Objects {
    /// So many objects that differ in their properties; `None` when too many that were drawn are alike.
    pub(super) fn make(rng: &mut ChaCha8Rng, count: usize, draws: &mut Draws) -> Option<Self> {
        let mut names = NAMES.map(str::to_owned).to_vec();
        names.shuffle(rng);
        names.truncate(count);
        let mut properties = PROPERTIES.to_vec();
        properties.shuffle(rng);
        properties.truncate(PROPERTIES_CHOSEN);
        let mut rows: Vec<Vec<u8>> = Vec::new();
        for _ in 0..count * DRAWS_PER_OBJECT {
            let row = properties.iter().map(|(_, values)| value(rng, values.len())).collect();
            if rows.len() < count {
                let new = !rows.contains(&row);
                draws.count(&NEW, 1, u64::from(!new));
                if new {
                    rows.push(row);
                }
            }
        }
        let property = |(name, values): (&str, [&str; 5])| Property {
            name: name.to_owned(),
            values: values.map(str::to_owned).to_vec(),
        };
        let properties = properties.into_iter().map(property).collect();
        (rows.len() == count).then_some(Self { names, properties, rows })
    }

    /// Name of the value of an object's property.
    pub(super) fn value(&self, object: usize, property: usize) -> &str {
        &self.properties[property].values[usize::from(self.rows[object][property])]
    }

    /// Name of a value of a property.
    pub(super) fn named(&self, property: usize, value: u8) -> String {
        self.properties[property].values[usize::from(value)].clone()
    }

    /// The object of this name, in letters of either case.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other.eq_ignore_ascii_case(name))
    }

    /// The question whether the property has one of these values, of which there must be one at least; `None` when there is
    /// no such property or value.
    pub(super) fn query<'a>(&self, property: &str, values: impl IntoIterator<Item = &'a str>) -> Option<Query> {
        let property = self.properties.iter().position(|other| other.name.eq_ignore_ascii_case(property))?;
        let all = &self.properties[property].values;
        let mut bits = 0_u8;
        for value in values {
            bits |= 1 << all.iter().position(|other| other.eq_ignore_ascii_case(value))?;
        }
        (bits != 0).then_some(Query { property, values: bits })
    }

    /// True if the answer is yes when this object is hidden.
    pub(super) fn answer(&self, object: usize, query: Query) -> bool {
        query.values >> self.rows[object][query.property] & 1 == 1
    }

    /// Number of questions that a player needs in the worst case who always asks the one that comes nearest to halving the rest.
    pub(super) fn questions_needed(&self) -> u32 {
        let queries = self.queries();
        deepest(&queries, self.all())
    }

    /// The questions of such a player when this object is hidden, and how many objects were looked at to choose them.
    pub(super) fn narrow_down(&self, hidden: usize) -> (Vec<Query>, u32) {
        let queries = self.queries();
        let mut left = self.all();
        let (mut asked, mut looked_at) = (Vec::new(), 0);
        while left.count_ones() > 1 {
            looked_at += left.count_ones() * u32::try_from(queries.len()).unwrap_or(u32::MAX);
            let Some((query, yes)) = halving(&queries, left) else { break };
            left &= if self.answer(hidden, query) { yes } else { !yes };
            asked.push(query);
        }
        (asked, looked_at)
    }

    /// A bit for each object.
    fn all(&self) -> u64 {
        (0..self.rows.len()).fold(0, |objects, object| objects | 1 << object)
    }

    /// Every question, with the objects for which the answer is yes. The opposite of a question is left out.
    fn queries(&self) -> Vec<(Query, u64)> {
        let mut queries = Vec::new();
        for (property, Property { values, .. }) in self.properties.iter().enumerate() {
            for values in 1..1_u8 << (values.len() - 1) {
                let query = Query { property, values };
                let yes = (0..self.rows.len()).filter(|object| self.answer(*object, query));
                queries.push((query, yes.fold(0, |objects, object| objects | 1_u64 << object)));
            }
        }
        queries
    }
}

/// Draws the number of a value; the first ones come more often, so that halving takes thought.
fn value(rng: &mut ChaCha8Rng, values: usize) -> u8 {
    let drawn = rng.random_range(0..values).min(rng.random_range(0..values));
    u8::try_from(drawn).unwrap_or(0)
}

/// The question that comes nearest to halving the objects, and for which the answer is yes.
fn halving(queries: &[(Query, u64)], left: u64) -> Option<(Query, u64)> {
    let uneven = |yes: u64| (2 * (yes & left).count_ones()).abs_diff(left.count_ones());
    queries.iter().copied().min_by_key(|(_, yes)| uneven(*yes))
}

/// Questions until one of these objects is left, at worst.
fn deepest(queries: &[(Query, u64)], left: u64) -> u32 {
    if left.count_ones() <= 1 {
        return 0;
    }
    // Objects differ, so that some question always parts them.
    halving(queries, left).map_or(0, |(_, yes)| {
        if left & yes == left || left & yes == 0 {
            return 0;
        }
        1 + deepest(queries, left & yes).max(deepest(queries, left & !yes))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use palestra_environment::task::seeded;

    #[test]
    fn no_word_has_two_meanings() {
        let words: Vec<&str> =
            PROPERTIES.iter().flat_map(|(name, values)| [*name].into_iter().chain(*values)).collect();
        let all: BTreeSet<&str> = words.iter().copied().chain(NAMES).collect();
        assert_eq!(all.len(), words.len() + NAMES.len());
    }

    #[test]
    fn every_object_is_found_with_the_questions_that_are_said_to_be_needed() {
        let mut rng = seeded(&[b"objects"]);
        for count in [24, 64] {
            let objects =
                (0..100).find_map(|_| Objects::make(&mut rng, count, &mut Draws::default())).expect("objects");
            let needed = objects.questions_needed();
            assert!(2_usize.pow(needed) >= count && 2_usize.pow(needed) <= count * 4, "{needed}");
            let asked = (0..count).map(|hidden| {
                let (queries, _) = objects.narrow_down(hidden);
                let same = |other: &usize| {
                    queries.iter().all(|query| objects.answer(*other, *query) == objects.answer(hidden, *query))
                };
                assert_eq!((0..count).filter(same).collect::<Vec<_>>(), [hidden]);
                u32::try_from(queries.len()).expect("few")
            });
            assert_eq!(asked.max(), Some(needed));
        }
    }
}
