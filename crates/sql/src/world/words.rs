//! Names that worlds are peopled with. All of them are made up.

use super::draw::Draw;

/// First names.
pub(super) const FIRST: [&str; 48] = [
    "Ada", "Amir", "Anja", "Arne", "Bela", "Bruno", "Carla", "Chidi", "Clara", "Dario", "Dina", "Edda", "Elio",
    "Emeka", "Esra", "Farah", "Finn", "Gita", "Goran", "Hana", "Hugo", "Ines", "Ivo", "Jana", "Jonas", "Kaya", "Kofi",
    "Lara", "Liam", "Lin", "Luca", "Maja", "Mateo", "Mina", "Nadia", "Nils", "Noor", "Olga", "Omar", "Pia", "Rafa",
    "Rosa", "Samir", "Sofia", "Tariq", "Uma", "Vera", "Yusuf",
];

/// Last names.
pub(super) const LAST: [&str; 48] = [
    "Abara", "Adler", "Alves", "Berg", "Bianchi", "Brandt", "Castro", "Costa", "Dahl", "Demir", "Duarte", "Eze",
    "Falk", "Ferrari", "Fischer", "Garcia", "Gruber", "Haddad", "Hansen", "Horvat", "Ivanova", "Jansen", "Kaur",
    "Keller", "Kovac", "Lang", "Larsen", "Lopez", "Marin", "Meyer", "Moreau", "Novak", "O'Brien", "Okafor", "Olsen",
    "Patel", "Petrov", "Quist", "Rossi", "Sato", "Silva", "Simon", "Tanaka", "Toth", "Vogel", "Weber", "Yilmaz",
    "Zeman",
];

/// Cities with their countries; the first are the largest.
pub(super) const CITIES: [(&str, &str); 16] = [
    ("Norhaven", "Ostland"),
    ("Port Ember", "Vellia"),
    ("Kestrel", "Ostland"),
    ("Saint Orin", "Marle"),
    ("Dunmere", "Vellia"),
    ("Altona Bay", "Marle"),
    ("Greyford", "Ostland"),
    ("Lumen", "Tarsia"),
    ("Westmark", "Vellia"),
    ("Brightwater", "Tarsia"),
    ("Ravensby", "Ostland"),
    ("Solace", "Marle"),
    ("Oakhurst", "Vellia"),
    ("Pinecrest", "Tarsia"),
    ("Stonebridge", "Ostland"),
    ("Fairview", "Marle"),
];

/// A person's name.
pub(super) fn person(draw: &mut Draw) -> String {
    format!("{} {}", draw.pick(&FIRST), draw.pick(&LAST))
}

/// So many names of people, no two alike.
pub(super) fn people(draw: &mut Draw, count: usize) -> Vec<String> {
    let mut all: Vec<String> =
        FIRST.iter().flat_map(|first| LAST.iter().map(move |last| format!("{first} {last}"))).collect();
    draw.shuffle(&mut all);
    all.truncate(count);
    all
}

/// An address for mail made of a name.
pub(super) fn mail(name: &str, host: &str) -> String {
    let local: String = name
        .to_lowercase()
        .chars()
        .map(|sign| if sign == ' ' { '.' } else { sign })
        .filter(|sign| *sign != '\'')
        .collect();
    format!("{local}@{host}")
}
