//! `puzzle/knights_and_knaves`: who always tells the truth and who always lies. One answer.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::names;
use super::words::{listed, words};
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Claims that are drawn for a speaker until one fits what the speaker is.
const CLAIMS_MAX: usize = 30;

/// The claim is true of a knight, false of a knave.
static FITTING: Requirement = Requirement::new("fitting", "the claim is true of a knight, false of a knave", 0.6);

/// Everybody has a claim that fits, in as many draws as are made.
static CLAIMS: Requirement =
    Requirement::new("claims", "everybody has a claim that fits, in as many draws as are made", 0.02);

/// The claims leave one choice of roles.
static UNIQUE: Requirement = Requirement::new("unique", "the claims leave one choice of roles", 0.75);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnightsAndKnaves;

/// A problem. Sets of people are bits, the first person being the lowest.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    people: Vec<String>,
    /// Claims of the people.
    claims: Vec<Claim>,
    knights: u16,
}

/// Something that is true or false of the people, who are given by their places in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Claim {
    /// The person is a knight, or a knave.
    Is { person: usize, knight: bool },
    /// The other claim is false.
    Not(Box<Claim>),
    /// Two claims in one.
    Join { by: Connective, parts: Box<[Claim; 2]> },
    /// Number of knights among these people.
    Count { people: Vec<usize>, bound: Bound, knights: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Connective {
    And,
    Or,
    Iff,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bound {
    AtLeast,
    AtMost,
    Exactly,
}

/// Assumptions about the people: of whom anything, and who of them is a knight.
#[derive(Debug, Clone, Copy)]
struct Assumed {
    known: u16,
    knights: u16,
}

impl Assumed {
    fn all(people: usize, knights: u16) -> Self {
        Self { known: (1_u16 << people) - 1, knights }
    }

    fn knight(self, person: usize) -> Option<bool> {
        (self.known >> person & 1 == 1).then_some(self.knights >> person & 1 == 1)
    }
}

impl Claim {
    /// Name in reports.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Is { .. } => "is",
            Self::Not(_) => "not",
            Self::Join { by: Connective::And, .. } => "and",
            Self::Join { by: Connective::Or, .. } => "or",
            Self::Join { by: Connective::Iff, .. } => "iff",
            Self::Count { .. } => "count",
        }
    }

    /// Truth of the claim; `None` where that depends on people of whom nothing is assumed.
    fn truth(&self, assumed: Assumed) -> Option<bool> {
        match self {
            Self::Is { person, knight } => assumed.knight(*person).map(|is| is == *knight),
            Self::Not(inner) => inner.truth(assumed).map(|truth| !truth),
            Self::Join { by, parts } => {
                let [left, right] = [&parts[0], &parts[1]].map(|part| part.truth(assumed));
                // One part decides when it is false of an `and`, true of an `or`.
                let decides = |deciding: bool| {
                    if [left, right].contains(&Some(deciding)) { Some(deciding) } else { left.and(right) }
                };
                match by {
                    Connective::And => decides(false),
                    Connective::Or => decides(true),
                    Connective::Iff => Some(left? == right?),
                }
            }
            Self::Count { people, bound, knights } => {
                let (mut least, mut open) = (0, 0);
                for person in people {
                    match assumed.knight(*person) {
                        Some(knight) => least += u32::from(knight),
                        None => open += 1,
                    }
                }
                let most = least + open;
                let reaches = if least >= *knights { Some(true) } else { (most < *knights).then_some(false) };
                let exceeds = if least > *knights { Some(true) } else { (most <= *knights).then_some(false) };
                match bound {
                    Bound::AtLeast => reaches,
                    Bound::AtMost => exceeds.map(|exceeds| !exceeds),
                    Bound::Exactly if reaches == Some(false) || exceeds == Some(true) => Some(false),
                    Bound::Exactly => (open == 0).then_some(true),
                }
            }
        }
    }

    /// The claim in the words of one of the people; parentheses say what belongs together.
    fn sentence(&self, speaker: usize, names: &[String]) -> String {
        let part = |claim: &Self| match claim {
            Self::Is { .. } => claim.sentence(speaker, names),
            _ => format!("({})", claim.sentence(speaker, names)),
        };
        match self {
            Self::Is { person, knight } => {
                let role = if *knight { "knight" } else { "knave" };
                if *person == speaker { format!("I am a {role}") } else { format!("{} is a {role}", names[*person]) }
            }
            Self::Not(inner) => format!("it is not true that {}", part(inner)),
            Self::Join { by, parts } => {
                let word = match by {
                    Connective::And => "and",
                    Connective::Or => "or",
                    Connective::Iff => "if and only if",
                };
                format!("{} {word} {}", part(&parts[0]), part(&parts[1]))
            }
            Self::Count { people, bound, knights } => {
                let people: Vec<&str> = people.iter().map(|person| names[*person].as_str()).collect();
                let bound = match bound {
                    Bound::AtLeast => "at least",
                    Bound::AtMost => "at most",
                    Bound::Exactly => "exactly",
                };
                format!("the number of knights among {} is {bound} {knights}", listed(&people, "and"))
            }
        }
    }
}

impl Question for KnightsAndKnaves {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "knights_and_knaves",
            version: 1,
            category: Category::Logic,
            tags: &["deduction"],
            multi_turn: false,
            description: "Find out who of 5 to 12 people is a knight and always tells the truth, and who is a knave and always lies, from what each of them says.",
            rule: "Everybody has to be named once with a role, and the claims of the knights, and of nobody else, have to be true.",
            scale: "More people, claims within claims, and counts of knights.",
            effort: "Assumes a role for one person after the other and goes back when a claim contradicts its speaker; claims examined.",
            floor: 0.04,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let count = usize::try_from(scale(difficulty, 5, 12))?;
        let depth = scale(difficulty, 1, 3);
        let knights = rng.random_range(0..1_u16 << count);
        let assumed = Assumed::all(count, knights);
        let mut fitting = |speaker: usize| {
            draws.until(&FITTING, CLAIMS_MAX, |draws| {
                let claim = claim(rng, speaker, count, depth, true);
                let fits = claim.truth(assumed) == assumed.knight(speaker);
                draws.note_part("claim", claim.kind(), fits);
                fits.then_some(claim)
            })
        };
        let claims = (0..count).map(&mut fitting).collect::<Option<Vec<Claim>>>().ok_or(&CLAIMS)?;
        let mut solver = Solver { claims: &claims, examined: 0, found: 0 };
        solver.search(0, 0);
        UNIQUE.demand(solver.found == 1)?;
        draws.note("people", count);
        draws.note("knights", knights.count_ones());
        Ok(Instance { people: names::people(rng, count), claims, knights })
    }

    fn content(&self, instance: &Instance) -> Value {
        // Other names do not make another problem.
        json!(instance.claims)
    }

    fn metadata(&self, Instance { people, claims, .. }: &Instance) -> Value {
        json!({"people": people, "claims": claims})
    }

    fn prompt(&self, Instance { people, claims, .. }: &Instance) -> String {
        let sentence =
            |(speaker, claim): (usize, &Claim)| format!("{}: {}.", people[speaker], claim.sentence(speaker, people));
        let sentence: Vec<String> = claims.iter().enumerate().map(sentence).collect();
        format!(
            "Everybody here is either a knight or a knave. What a knight says is true, and what a knave says is false. Each of \
             {} people says one thing:\n{}\n\
             `or` is meant to include that both hold, and parentheses show what belongs together. Only one choice of roles \
             agrees with all that was said. Who is what? Name everybody with the role, such as: Amy: knight, Bob: knave",
            people.len(),
            sentence.join("\n")
        )
    }

    fn check(&self, instance: &Instance, answer: &str) -> Mark {
        let knights = match read_roles(&instance.people, answer) {
            Ok(knights) => knights,
            Err(fault) => return Mark::wrong(fault),
        };
        let assumed = Assumed::all(instance.people.len(), knights);
        let mut speakers = instance.claims.iter().zip(&instance.people).enumerate();
        match speakers.find(|(speaker, (claim, _))| claim.truth(assumed) != assumed.knight(*speaker)) {
            Some((_, (_, name))) => Mark::wrong(format!("what {name} says does not fit the role")),
            None => Mark::right("every claim fits the role of its speaker"),
        }
    }

    fn solution(&self, instance: &Instance) -> String {
        write_roles(&instance.people, instance.knights)
    }

    fn guess(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        write_roles(&instance.people, rng.random_range(0..1_u16 << instance.people.len()))
    }

    fn mistake(&self, instance: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One role is another one, and only one choice of roles is right.
        let person = rng.random_range(0..instance.people.len());
        write_roles(&instance.people, instance.knights ^ (1 << person))
    }

    fn effort(&self, instance: &Instance) -> f64 {
        let mut solver = Solver { claims: &instance.claims, examined: 0, found: 0 };
        solver.search(0, 0);
        f64::from(solver.examined)
    }
}

/// Draws a claim with at most so many layers. Nobody says just what they are.
fn claim(rng: &mut ChaCha8Rng, speaker: usize, people: usize, depth: u32, outermost: bool) -> Claim {
    if depth == 0 || rng.random_ratio(1, 4) {
        let others: Vec<usize> = (0..people).filter(|person| !outermost || *person != speaker).collect();
        return literal(rng, &others);
    }
    match rng.random_range(0..10_u32) {
        0..7 => {
            let by = *[Connective::And, Connective::Or, Connective::Iff].choose(rng).unwrap_or(&Connective::And);
            let left = claim(rng, speaker, people, depth - 1, false);
            let right = match left {
                // Two plain claims about the same person say nothing new.
                Claim::Is { person, .. } => {
                    let others: Vec<usize> = (0..people).filter(|other| *other != person).collect();
                    if depth == 1 { literal(rng, &others) } else { claim(rng, speaker, people, depth - 1, false) }
                }
                _ => claim(rng, speaker, people, depth - 1, false),
            };
            Claim::Join { by, parts: Box::new([left, right]) }
        }
        7 if depth > 1 => Claim::Not(Box::new(claim(rng, speaker, people, depth - 1, false))),
        _ => {
            let mut counted: Vec<usize> = (0..people).collect();
            counted.shuffle(rng);
            counted.truncate(rng.random_range(3..=people.min(5)));
            counted.sort_unstable();
            let bound = *[Bound::AtLeast, Bound::AtMost, Bound::Exactly].choose(rng).unwrap_or(&Bound::Exactly);
            // Neither bound holds of itself.
            let knights = rng.random_range(1..u32::try_from(counted.len()).unwrap_or(2));
            Claim::Count { people: counted, bound, knights }
        }
    }
}

fn literal(rng: &mut ChaCha8Rng, people: &[usize]) -> Claim {
    Claim::Is { person: people.choose(rng).copied().unwrap_or(0), knight: rng.random() }
}

/// Assigns roles in order.
struct Solver<'a> {
    claims: &'a [Claim],
    examined: u32,
    found: u32,
}

impl Solver<'_> {
    /// Looks at all choices for the people from `person` on, given those before; stops at the second solution.
    fn search(&mut self, person: usize, knights: u16) {
        let assumed = Assumed::all(person, knights);
        for (speaker, claim) in self.claims.iter().enumerate().take(person) {
            self.examined += 1;
            if claim.truth(assumed).is_some_and(|truth| assumed.knight(speaker) != Some(truth)) {
                return;
            }
        }
        if person == self.claims.len() {
            self.found += 1;
            return;
        }
        for role in [0, 1] {
            if self.found < 2 {
                self.search(person + 1, knights | role << person);
            }
        }
    }
}

fn write_roles(people: &[String], knights: u16) -> String {
    let role = |person: usize| if knights >> person & 1 == 1 { "knight" } else { "knave" };
    let roles: Vec<String> =
        people.iter().enumerate().map(|(person, name)| format!("{name}: {}", role(person))).collect();
    roles.join(", ")
}

/// Names and roles in turn, everybody once and in any order.
fn read_roles(people: &[String], answer: &str) -> Result<u16, String> {
    let words = words(answer).ok_or("the answer holds what is neither a name nor a role")?;
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !["is", "a", "and"].contains(word)).collect();
    let (mut named, mut knights) = (0_u16, 0_u16);
    for pair in words.chunks(2) {
        let [name, role] = pair else { return Err("a name stands without its role".to_owned()) };
        let person = people.iter().position(|person| person.eq_ignore_ascii_case(name));
        let person = person.ok_or_else(|| format!("where a name is due stands {name:?}"))?;
        if named >> person & 1 == 1 {
            return Err(format!("{name} is named twice"));
        }
        named |= 1 << person;
        match *role {
            "knight" => knights |= 1 << person,
            "knave" => {}
            other => return Err(format!("where a role is due stands {other:?}")),
        }
    }
    if named.count_ones() as usize == people.len() { Ok(knights) } else { Err("somebody is not named".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_environment::task::seeded;

    fn is(person: usize, knight: bool) -> Claim {
        Claim::Is { person, knight }
    }

    fn join(by: Connective, left: Claim, right: Claim) -> Claim {
        Claim::Join { by, parts: Box::new([left, right]) }
    }

    /// Ada says that both are knaves.
    fn instance() -> Instance {
        let claims = vec![join(Connective::And, is(0, false), is(1, false)), is(0, false)];
        Instance { people: vec!["Ada".to_owned(), "Leo".to_owned()], claims, knights: 0b10 }
    }

    #[test]
    fn every_way_to_write_the_roles_is_right_and_other_roles_are_not() {
        for answer in [
            "Ada: knave, Leo: knight",
            "leo is a KNIGHT and ada is a knave.",
            "| Ada | knave |\n| Leo | knight |",
            "{\"Ada\": \"knave\", \"Leo\": \"knight\"}",
            KnightsAndKnaves.solution(&instance()).as_str(),
        ] {
            assert_eq!(KnightsAndKnaves.check(&instance(), answer).score, 1.0, "{answer}");
        }
        for answer in [
            "",
            "Ada: knave",
            "Ada: knight, Leo: knight",
            "Ada: knave, Leo: knave",
            "Ada: knave, Leo: knight, Leo: knave",
            "Ada: knave, Ada: knave",
            "Ada: knave, Leo: knight knave",
            "Ada: knave, Leo: not knave",
            "Ada: knave, Leo != knave",
            "Ada: knave, Leo: knight, Eve: knight",
            "Ada: knave, Ｌeo: knight",
            "knave, knight",
            &"Ada: knave ".repeat(700),
        ] {
            assert_eq!(KnightsAndKnaves.check(&instance(), answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn partial_truths_hold_of_all_completions() {
        let mut rng = seeded(&[b"claims"]);
        for _ in 0..300 {
            let claim = claim(&mut rng, 0, 5, 3, true);
            let known = rng.random_range(0..32_u16);
            let knights = rng.random_range(0..32_u16) & known;
            let completions = (0..32).filter(|all| all & known == knights);
            let truths: Vec<_> = completions.map(|all| claim.truth(Assumed::all(5, all))).collect();
            assert!(truths.iter().all(Option::is_some));
            if let Some(truth) = claim.truth(Assumed { known, knights }) {
                assert!(truths.iter().all(|other| *other == Some(truth)), "{claim:?} {known:b} {knights:b}");
            }
        }
    }

    #[test]
    fn claims_are_said_with_parentheses_around_what_belongs_together() {
        let names = ["Ada", "Leo", "Max"].map(str::to_owned);
        let inner = join(Connective::Iff, is(1, true), is(0, false));
        let counted = Claim::Count { people: vec![0, 1, 2], bound: Bound::AtMost, knights: 2 };
        let claim = join(Connective::Or, Claim::Not(Box::new(inner)), counted);
        assert_eq!(
            claim.sentence(0, &names),
            "(it is not true that (Leo is a knight if and only if I am a knave)) or (the number of knights among Ada, Leo and \
             Max is at most 2)"
        );
    }

    #[test]
    fn one_choice_of_roles_alone_is_accepted() {
        for (seed, difficulty) in [(0_u8, 0.0), (1, 0.3), (2, 0.5), (3, 0.7)] {
            let mut rng = seeded(&[b"unique", &[seed]]);
            let instance =
                std::iter::repeat_with(|| KnightsAndKnaves.generate(&mut rng, difficulty, &mut Draws::default()));
            let instance = instance.take(500).flatten().next().expect("a problem");
            let all = (0..1_u16 << instance.people.len()).map(|knights| write_roles(&instance.people, knights));
            let right: Vec<String> = all.filter(|roles| KnightsAndKnaves.check(&instance, roles).score > 0.0).collect();
            assert_eq!(right, [KnightsAndKnaves.solution(&instance)]);
        }
    }
}
