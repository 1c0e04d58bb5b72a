//! Given names for people in problems.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Names of women.
const WOMEN: [&str; 30] = [
    "Ada", "Bella", "Clara", "Dora", "Emma", "Freya", "Greta", "Hanna", "Ida", "Julia", "Karla", "Lena", "Mona",
    "Nina", "Olga", "Paula", "Rosa", "Sara", "Tara", "Ulla", "Vera", "Wanda", "Yara", "Zoe", "Anna", "Edith", "Irene",
    "Laura", "Nora", "Ruth",
];

/// Names of men.
const MEN: [&str; 30] = [
    "Adam", "Boris", "Carl", "David", "Eric", "Felix", "Georg", "Hugo", "Ivan", "Jonas", "Kurt", "Leo", "Max", "Nils",
    "Otto", "Peter", "Quinn", "Ralf", "Simon", "Thomas", "Urs", "Victor", "Walter", "Xaver", "Yuri", "Anton", "Emil",
    "Henry", "Martin", "Oscar",
];

/// Names of women and of men, each in a random order.
pub(super) fn shuffled(rng: &mut ChaCha8Rng) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut women, mut men) = (WOMEN.to_vec(), MEN.to_vec());
    women.shuffle(rng);
    men.shuffle(rng);
    (women, men)
}

/// So many different names, at most 60.
pub(super) fn people(rng: &mut ChaCha8Rng, count: usize) -> Vec<String> {
    let mut names: Vec<&str> = WOMEN.into_iter().chain(MEN).collect();
    names.shuffle(rng);
    names.into_iter().take(count).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use palestra_environment::task::seeded;

    #[test]
    fn no_name_is_there_twice() {
        let names = people(&mut seeded(&[b"names"]), 60);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 60);
    }
}
