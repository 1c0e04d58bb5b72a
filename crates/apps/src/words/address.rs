//! Names by which people and companies are known on a network, made from what they are called.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Domains that are reserved for examples (RFC 2606).
const DOMAINS: [&str; 3] = ["example.com", "example.org", "example.net"];

/// A longer name would not fit into the 64 characters that a mailbox may have (RFC 5321).
const NAME_MAX: usize = 40;

/// Letters outside ASCII that are common in names, and how they are written without marks.
const FOLDED: [(&str, &str); 25] = [
    ("àáâãåāăą", "a"),
    ("ä", "ae"),
    ("æ", "ae"),
    ("çćčĉ", "c"),
    ("ďđð", "d"),
    ("èéêëēęěė", "e"),
    ("ğģ", "g"),
    ("ħ", "h"),
    ("ìíîïīįı", "i"),
    ("ķ", "k"),
    ("ľļł", "l"),
    ("ñńňņ", "n"),
    ("òóôõōőø", "o"),
    ("ö", "oe"),
    ("œ", "oe"),
    ("řŕ", "r"),
    ("śšşș", "s"),
    ("ß", "ss"),
    ("ťţț", "t"),
    ("þ", "th"),
    ("ùúûūůű", "u"),
    ("ü", "ue"),
    ("ŵ", "w"),
    ("ýÿ", "y"),
    ("źżž", "z"),
];

/// `maria.silva`, `msilva`, `maria_silva42` and the like; small letters, digits, dots and underscores.
pub(super) fn user_name(random: &mut ChaCha8Rng, arguments: &[Arc<str>]) -> String {
    let words = words(arguments.first().map_or("", |name| name));
    let (first, last) = first_and_last(&words);
    let initial = initial_of(first);
    let number = random.random_range(2..100_u32);
    match random.random_range(0..8_u32) {
        0 => join(first, ".", last),
        1 => join(first, "_", last),
        2 => join(initial, "", last),
        3 => join(last, ".", first),
        4 => join(first, "", last) + &number.to_string(),
        5 => join(initial, ".", last) + &number.to_string(),
        6 => join(first, "_", initial_of(last)) + &number.to_string(),
        _ => join(first, ".", last) + &number.to_string(),
    }
}

/// An address at a domain for examples; half of the time plain `first.last`, as at work, and else with a number.
pub(super) fn email(random: &mut ChaCha8Rng, arguments: &[Arc<str>]) -> String {
    let words = words(arguments.first().map_or("", |name| name));
    let (first, last) = first_and_last(&words);
    let number = random.random_range(2..100_u32);
    let name = match random.random_range(0..8_u32) {
        0..4 => join(first, ".", last),
        4 | 5 => join(initial_of(first), ".", last) + &number.to_string(),
        _ => join(first, ".", last) + &number.to_string(),
    };
    let domain = DOMAINS[random.random_range(0..3_u32) as usize];
    format!("{name}@{domain}")
}

/// `maria.silva@norvik-logistics.example`: what a company gives to those who work there. One for each name and company.
pub(super) fn work_email(_: &mut ChaCha8Rng, arguments: &[Arc<str>]) -> String {
    let words = words(arguments.first().map_or("", |name| name));
    let (first, last) = first_and_last(&words);
    format!("{}@{}", join(first, ".", last), domain_of(arguments.get(1).map_or("", |company| company)))
}

/// `norvik-logistics.example`, in a domain for examples (RFC 2606). One for each company.
pub(super) fn domain(_: &mut ChaCha8Rng, arguments: &[Arc<str>]) -> String {
    domain_of(arguments.first().map_or("", |company| company))
}

fn domain_of(company: &str) -> String {
    let mut label = words(company).join("-");
    label.truncate(NAME_MAX);
    let label = label.trim_matches('-');
    format!("{}.example", if label.is_empty() { "company" } else { label })
}

/// The words of a name in small ASCII letters and digits; what has no such spelling is left out.
fn words(name: &str) -> Vec<String> {
    let mut folded = String::new();
    for letter in name.to_lowercase().chars() {
        if letter.is_ascii_alphanumeric() {
            folded.push(letter);
        } else if letter.is_whitespace() || matches!(letter, '-' | '_') {
            folded.push(' ');
        } else if letter == '&' {
            folded.push_str(" and ");
        } else if let Some((_, plain)) = FOLDED.iter().find(|(marked, _)| marked.contains(letter)) {
            folded.push_str(plain);
        }
    }
    folded.split_whitespace().map(str::to_owned).collect()
}

/// First and last word, each cut to what fits; `user` stands for a name without any.
fn first_and_last(words: &[String]) -> (&str, &str) {
    let cut = |word: &'_ String| word.len().min(NAME_MAX / 2);
    let first = words.first().map_or("user", |word| &word[..cut(word)]);
    let last = words.get(1..).and_then(<[String]>::last).map_or("", |word| &word[..cut(word)]);
    (first, last)
}

fn initial_of(word: &str) -> &str {
    word.get(..1).unwrap_or_default()
}

/// Two words with a sign between them, if there are two.
fn join(first: &str, sign: &str, second: &str) -> String {
    if first.is_empty() || second.is_empty() { format!("{first}{second}") } else { format!("{first}{sign}{second}") }
}
