//! Invariants of every generator, and of the grammar as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::grammar::{Part, SOURCES, WORDS, parts};
use super::{Generator, Source, all, find};

/// More draws than this say no more about a size.
const DRAWS_MAX: u64 = 1_000;

/// Different texts that a generator yields whatever its further arguments are.
const FITTING_MIN: u64 = 8;

/// Every choice of every parameter, and one word that is none of them; without the further parameters, and with all of them.
fn arguments(generator: &Generator) -> Vec<Vec<Arc<str>>> {
    let mut rows = combined(generator, generator.parameters);
    if !generator.further.is_empty() {
        rows.extend(combined(generator, &[generator.parameters, generator.further].concat()));
    }
    rows
}

fn combined(generator: &Generator, parameters: &[&'static str]) -> Vec<Vec<Arc<str>>> {
    let mut rows: Vec<Vec<Arc<str>>> = vec![Vec::new()];
    for parameter in parameters {
        let given = match *parameter {
            "topic" | "kind" => "lamp",
            "city" => "Lisbon",
            "company" => "Alderbrook Foods Ltd",
            "product" => "Norvik Lamp",
            "material" => "walnut",
            "stars" => "4",
            "project" | "about" => "Amber Compass",
            // One that is read, and with other topics one that is not.
            "subject" => "Question about invoice R123456",
            "title" => "How to read an invoice, in short",
            _ => "Maria Da Silva",
        };
        let words: Vec<&str> = generator.choices(parameter).into_iter().chain([given]).collect();
        rows = rows
            .iter()
            .flat_map(|row| words.iter().map(|word| [row.as_slice(), &[Arc::from(*word)]].concat()))
            .collect();
    }
    rows
}

fn draw(generator: &Generator, arguments: &[Arc<str>], count: u64) -> Vec<String> {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    (0..count).map(|_| generator.generate(&mut random, arguments)).collect()
}

/// Number of texts that a rule can yield, if no two ways lead to the same text.
fn count(rule: &str, arguments: &BTreeMap<&str, &str>) -> f64 {
    let slot = |slot: &'static str| -> f64 {
        let slot = slot.rsplit([' ', '=']).next().unwrap_or(slot);
        let lower = slot.to_lowercase();
        if slot.contains("..") {
            let (low, high) = slot.split_once("..").expect("a range");
            let (high, step) = high.split_once('/').unwrap_or((high, "1"));
            let number = |text: &str| text.parse::<f64>().expect("a number");
            ((number(high) - number(low)) / number(step)).floor() + 1.0
        } else if slot.starts_with(['#', '@']) {
            slot.chars().map(|sign| if sign == '#' { 10.0 } else { 18.0 }).product()
        } else if lower.starts_with('$') {
            1.0
        } else if let Some((rule, name)) = lower.split_once(".$") {
            count(&WORDS.variant(rule, arguments.get(name).copied().unwrap_or_default()), arguments)
        } else {
            count(&lower, arguments)
        }
    };
    let alternatives = WORDS.alternatives(rule).unwrap_or_else(|| panic!("no rule is called {rule}"));
    let distinct: BTreeSet<&str> = alternatives.iter().map(|alternative| alternative.text).collect();
    let ways = |alternative: &'static str| -> f64 {
        parts(alternative).map(|part| if let Part::Slot(inner) = part { slot(inner) } else { 1.0 }).product()
    };
    distinct.into_iter().map(ways).sum()
}

#[test]
fn names_are_unique_and_in_snake_case() {
    let mut seen = BTreeSet::new();
    for generator in all() {
        let name = generator.name;
        assert!(seen.insert(name), "{name} is there twice");
        let plain = name.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_');
        assert!(plain && name.starts_with(|sign: char| sign.is_ascii_lowercase()) && !name.contains("__"), "{name}");
        assert!(generator.about.ends_with('.'), "{name}");
        assert_eq!(find(name).map(|found| found.about), Some(generator.about));
    }
    assert!(find("nothing").is_none());
    assert!(find("mail.greeting").is_none(), "rules that help others are no generators");
}

#[test]
fn every_text_is_whole() {
    for generator in all() {
        for arguments in arguments(generator) {
            for text in draw(generator, &arguments, 200) {
                let name = generator.name;
                assert!(!text.is_empty() && text.trim() == text, "{name}: {text:?}");
                assert!(text.chars().count() < 2_000, "{name}: {text:?}");
                for mark in ["{", "}", "$", "  ", "\\", "..", " ,", " .", "\n\n\n", " \n"] {
                    assert!(!text.contains(mark), "{name} left {mark:?}: {text:?}");
                }
            }
        }
    }
}

#[test]
fn texts_depend_on_the_seed_and_on_nothing_else() {
    for generator in all() {
        for arguments in arguments(generator) {
            assert_eq!(draw(generator, &arguments, 20), draw(generator, &arguments, 20), "{}", generator.name);
        }
    }
    let texts = |seed| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        all().map(|generator| generator.generate(&mut random, &[])).collect::<Vec<_>>()
    };
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
}

/// Of `n` draws from `n` equally likely texts, `1 - 1/e` or 63 of 100 are expected to be different. Texts are not equally
/// likely, since short lists stand beside long ones, so two fifths are asked for.
#[test]
fn stated_sizes_are_reached() {
    let mut low = Vec::new();
    for generator in all() {
        for arguments in arguments(generator) {
            // Texts that fit something are fewer, yet never one alone.
            let is_about = arguments.len() > generator.parameters.len();
            let size = if is_about { FITTING_MIN } else { generator.size };
            let draws = size.min(DRAWS_MAX);
            let distinct = draw(generator, &arguments, draws).into_iter().collect::<BTreeSet<_>>().len() as u64;
            if distinct * 5 < draws * 2 {
                low.push(format!("{}({arguments:?}) has {distinct} in {draws}", generator.name));
            }
            if matches!(generator.source, Source::Rule) && !is_about {
                let named = generator.parameters.iter().copied().zip(arguments.iter().map(AsRef::as_ref)).collect();
                let ways = count(generator.name, &named);
                if ways < generator.size as f64 {
                    low.push(format!("{}({arguments:?}) has {ways} ways, not {}", generator.name, generator.size));
                }
            }
        }
    }
    assert!(low.is_empty(), "{low:#?}");
}

#[test]
fn small_lists_are_drawn_in_full() {
    for name in ["us_state", "clothing_size", "card_kind", "emoji", "airport_code", "city"] {
        let generator = find(name).expect("a generator");
        let distinct: BTreeSet<String> = draw(generator, &[], generator.size * 12).into_iter().collect();
        assert!(distinct.len() as u64 >= generator.size, "{name}: {}", distinct.len());
    }
}

#[test]
fn rules_are_defined_once_and_used_and_never_need_themselves() {
    let headers: Vec<&str> = SOURCES
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| line.strip_prefix("= ").or_else(|| line.strip_prefix("~ ")))
        .flat_map(|names| names.split(", "))
        .collect();
    let rules: BTreeSet<&str> = headers.iter().copied().collect();
    for rule in &rules {
        assert_eq!(headers.iter().filter(|header| header == &rule).count(), 1, "{rule} is defined twice");
    }
    let mut reached = BTreeSet::new();
    for generator in all().filter(|generator| matches!(generator.source, Source::Rule)) {
        reach(generator.name, &mut Vec::new(), &mut reached);
        if !generator.further.is_empty() {
            reach(&format!("{}.about", generator.name), &mut Vec::new(), &mut reached);
        }
    }
    reach("iban_body", &mut Vec::new(), &mut reached);
    let unused: Vec<_> = rules.iter().filter(|rule| !reached.contains(**rule)).collect();
    assert!(unused.is_empty(), "no generator needs {unused:?}");
}

/// Follows the slots of a rule; fails at a rule that is not there or that leads back to itself.
fn reach(rule: &str, path: &mut Vec<String>, reached: &mut BTreeSet<String>) {
    assert!(!path.iter().any(|above| above == rule), "{rule} needs itself: {path:?}");
    if !reached.insert(rule.to_owned()) {
        return;
    }
    path.push(rule.to_owned());
    let alternatives = WORDS.alternatives(rule).unwrap_or_else(|| panic!("no rule is called {rule}: {path:?}"));
    for part in alternatives.iter().flat_map(|alternative| parts(alternative.text)) {
        let Part::Slot(slot) = part else { continue };
        if let Some((reply, read)) =
            slot.split_once(" for $").and_then(|(reply, of)| Some((reply, of.split_once(" as ")?.1)))
        {
            continued(reply, read.split_once(".$").map_or(read, |(read, _)| read), path, reached);
        }
        let lower = slot.rsplit([' ', '=']).next().unwrap_or(slot).to_lowercase();
        if let Some((variants, parameter)) = lower.split_once(".$") {
            reach(&format!("{variants}.general"), path, reached);
            for choice in WORDS.choices(rule, parameter) {
                // The variants of one rule need not all be there in another.
                reach(&WORDS.variant(variants, choice), path, reached);
            }
        } else if !lower.starts_with('$') && !lower.contains("..") && !lower.starts_with(['#', '@']) {
            reach(&lower, path, reached);
        }
    }
    path.pop();
}

/// Every case of the texts that are read, and every topic for one that reads as none, has its rule.
fn continued(reply: &str, read: &str, path: &mut Vec<String>, reached: &mut BTreeSet<String>) {
    for (rule, alternatives) in WORDS.variants(read) {
        let topic = rule.rsplit('.').next().unwrap_or(rule);
        reach(&WORDS.variant(reply, topic), path, reached);
        // Of a rule whose texts are read, all are.
        if alternatives.iter().any(|alternative| alternative.case.is_some()) {
            for alternative in alternatives {
                let case = alternative.case.unwrap_or_else(|| panic!("{} has no case", alternative.text));
                reach(&format!("{reply}.{case}"), path, reached);
            }
        }
    }
}

#[test]
fn topics_and_kinds_choose_the_texts() {
    let topics = find("mail_body").expect("a generator").choices("topic");
    for topic in [
        "invoice",
        "meeting",
        "travel",
        "newsletter",
        "support",
        "project",
        "personal",
        "delivery",
        "hiring",
        "security",
    ] {
        assert!(topics.contains(&topic), "{topic}");
    }
    let kinds = find("event_title").expect("a generator").choices("kind");
    for kind in ["meeting", "one_on_one", "dentist", "workshop", "birthday", "travel", "lunch", "review", "deadline"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    for name in ["file_name", "mail_subject", "event_title"] {
        let generator = find(name).expect("a generator");
        let word = |text: &str| vec![Arc::from(text)];
        assert_eq!(draw(generator, &word("???"), 5), draw(generator, &word("general"), 5), "{name}");
        assert_ne!(draw(generator, &word("invoice"), 5), draw(generator, &word("birthday"), 5), "{name}");
    }
    assert!(find("city").expect("a generator").choices("topic").is_empty());
}

#[test]
fn people_have_ascii_logins_and_addresses() {
    let (person, login, mail) = (find("person_name"), find("user_name"), find("email"));
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let name_of =
        |text: &str| text.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "._".contains(sign));
    for _ in 0..2_000 {
        let name = person.expect("a generator").generate(&mut random, &[]);
        assert!(name.is_ascii() && name.contains(' '), "{name}");
        let name = [Arc::from(name.as_str())];
        let user = login.expect("a generator").generate(&mut random, &name);
        assert!(name_of(&user) && user.len() >= 3, "{user}");
        let address = mail.expect("a generator").generate(&mut random, &name);
        let (mailbox, domain) = address.split_once('@').expect("an address");
        assert!(name_of(mailbox) && ["example.com", "example.org", "example.net"].contains(&domain), "{address}");
    }
}

#[test]
fn names_of_any_kind_become_addresses() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let long = "x".repeat(500);
    for name in
        ["", "   ", "José Núñez", "Đặng", "山田太郎", "{user_name}", "a@b.c, <d>", "-", "O'Brien \n Smith", &long]
    {
        for generator in ["user_name", "email"] {
            let text = find(generator).expect("a generator").generate(&mut random, &[Arc::from(name)]);
            let (mailbox, _) = text.split_once('@').unwrap_or((&text, ""));
            let plain =
                mailbox.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "._".contains(sign));
            assert!(plain && !mailbox.is_empty() && mailbox.len() <= 64, "{name:?} became {text:?}");
            assert!(!mailbox.starts_with('.') && !mailbox.ends_with('.'), "{name:?} became {text:?}");
        }
    }
    let work = |name: &str, company: &str| {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        find("work_email").expect("a generator").generate(&mut random, &[Arc::from(name), Arc::from(company)])
    };
    assert_eq!(work("José Núñez", "Osei & Sons"), "jose.nunez@osei-and-sons.example");
    assert_eq!(work("", "???"), "user@company.example");
    assert_eq!(work("Jürgen Weiß", "Café Größe"), "juergen.weiss@cafe-groesse.example");
}

#[test]
fn given_words_stay_as_they_are() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let product = find("ticket_subject").expect("a generator");
    for text in ["{city}", "$name", "\\n", "100 % \"wool\"", "灯"] {
        let seen = (0..50).any(|_| product.generate(&mut random, &[Arc::from(text)]).contains(text));
        assert!(seen, "{text:?} is not told apart from a slot");
    }
    let greeting = find("mail_body").expect("a generator");
    let text = greeting.generate(&mut random, &[Arc::from("invoice"), Arc::from("Priya Nair")]);
    assert!(text.lines().next().is_some_and(|line| line.ends_with("Priya,")), "{text}");
}

#[test]
fn what_continues_a_text_is_about_what_it_says() {
    let draw = |name: &str, arguments: &[&str], random: &mut ChaCha8Rng| {
        let arguments: Vec<Arc<str>> = arguments.iter().map(|argument| Arc::from(*argument)).collect();
        find(name).expect("a generator").generate(random, &arguments)
    };
    let mut random = ChaCha8Rng::seed_from_u64(13);
    for _ in 0..500 {
        let subject = draw("mail_subject", &["project", "Alderbrook Foods"], &mut random);
        let body = draw("mail_body", &["project", "Maria Silva", &subject, "Alderbrook Foods"], &mut random);
        let named = subject.trim_start_matches("Fwd: ").trim_start_matches("Re: ");
        let shared =
            named.split(' ').filter(|word| word.starts_with(char::is_uppercase) && body.contains(word)).count();
        assert!(shared >= 1, "{subject:?} and then {body:?}");

        let name = draw("file_name", &["invoice"], &mut random);
        let text = draw("file_text", &["invoice", &name], &mut random);
        let numbers = name.split(|sign: char| !sign.is_ascii_digit()).filter(|number| number.len() >= 4);
        for number in numbers {
            assert!(text.contains(number), "{name:?} and then {text:?}");
        }
    }
    // One that no rule would write, however long, is not searched for all its readings.
    let long = "a and ".repeat(200_000);
    draw("ticket_body", &["sign-in", "account", &long, "Maria Silva"], &mut random);
    // What reads as none of them has the texts of its topic.
    let plain = draw("mail_body", &["project", "Maria Silva"], &mut ChaCha8Rng::seed_from_u64(1));
    let unread = draw("mail_body", &["project", "Maria Silva", "Hm", "-"], &mut ChaCha8Rng::seed_from_u64(1));
    assert_eq!(plain, unread);
}
