//! Every template without a browser: what is drawn is repeatable, its pages hang together, and a reader that knows only the rendered
//! pages finds the same answer on the pages that prove it.

mod reader;

use std::collections::{BTreeMap, BTreeSet};

use palestra_browser::action;
use palestra_sites::{Answer, Draw, Fact, Kind, Level, Link, Page, Question, Site, Task, Template, all};
use reader::{NOT_STATED, Read, Reader, words};
use scraper::{Html, Selector};

/// Seeds of each template.
const SEEDS: u64 = 20;
/// Seeds of each template whose whole sites are read.
const WHOLE_SEEDS: u64 = 2;
/// Templates of each site, at least.
const TEMPLATES_MIN: usize = 8;
/// Actions that a session allows.
const ACTIONS_MAX: usize = 100;

fn drawn(template: &Template, seed: u64) -> Task {
    template.draw(&mut Draw::new(template.level, seed)).unwrap_or_else(|| panic!("{} {seed}: no task", template.name))
}

/// Every draw, with its name.
fn draws(seeds: u64) -> impl Iterator<Item = (String, Template, Task)> {
    all().into_iter().flat_map(move |template| {
        (0..seeds).map(move |seed| {
            let name = format!("{} {seed}", template.name);
            let task = drawn(&template, seed);
            (name, template.clone(), task)
        })
    })
}

fn reading<'a>(site: &Site, addresses: impl Iterator<Item = &'a String>) -> Reader {
    let pages = addresses.collect::<BTreeSet<_>>().into_iter().map(|at| Read::page(at, &site.pages[at].html));
    Reader::new(site.kind, pages.collect())
}

/// True if what a reader found is the right answer.
fn right(answer: &Answer, found: Option<&str>) -> bool {
    match (answer, found) {
        (Answer::NotStated, Some(found)) => found == NOT_STATED,
        (answer, Some(found)) => answer.accepts(found),
        (_, None) => false,
    }
}

/// The question with one way to prove it.
fn one_way(question: &Question, way: &[Fact]) -> Question {
    Question { ways: vec![way.to_vec()], ..question.clone() }
}

#[test]
fn templates_are_named_once_and_every_level_of_every_site_has_some() {
    let names: BTreeSet<&str> = all().into_iter().map(|template| template.name).collect();
    assert_eq!(names.len(), all().len());
    for kind in Kind::ALL {
        let own: Vec<Template> = all().into_iter().filter(|template| template.kind == kind).collect();
        assert!(own.len() >= TEMPLATES_MIN, "{kind:?}");
        let prefix = format!("{kind:?}-").to_lowercase();
        assert!(own.iter().all(|template| template.name.starts_with(&prefix)), "{prefix}");
        for level in Level::ALL {
            assert!(own.iter().filter(|template| template.level == level).count() > 1, "{kind:?} {level:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_site_and_others_give_others() {
    for template in all() {
        let draw = |seed| drawn(&template, seed);
        let (one, again) = (draw(1), draw(1));
        assert_eq!(format!("{:?}", one.question), format!("{:?}", again.question), "{}", template.name);
        let html = |task: &Task| task.site().pages.into_values().map(|page| page.html).collect::<Vec<_>>();
        assert_eq!(html(&one), html(&again), "{}", template.name);
        let asked = |task: &Task| format!("{} {:?}", task.question.text, task.question.answer);
        let texts: BTreeSet<String> = (0..SEEDS).map(|seed| asked(&draw(seed))).collect();
        assert!(texts.len() > 10, "{}: {} different questions", template.name, texts.len());
    }
}

#[test]
fn pages_that_prove_an_answer_are_enough_to_find_it_in_each_way() {
    let mut tours: BTreeMap<Level, Vec<usize>> = BTreeMap::new();
    let mut unstated: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, template, task) in draws(SEEDS) {
        let (site, question) = (task.site(), &task.question);
        *unstated.entry(template.name).or_default() += u64::from(question.answer == Answer::NotStated);
        for (place, way) in question.ways.iter().enumerate() {
            let tour = site.tour(&one_way(question, way)).unwrap_or_else(|| panic!("{name}: way {place} is nowhere"));
            let found = reading(&site, tour.iter()).answer(&question.text);
            assert!(
                right(&question.answer, found.as_deref()),
                "{name}, way {place}: {} -> {found:?} instead of {:?} on {tour:?}",
                question.text,
                question.answer
            );
        }
        let home = BTreeSet::from(["/"]);
        assert!(!site.lacking(question, &home).is_empty(), "{name}: the first page proves the answer");
        let solution = site.solution(question).expect("a solution");
        assert!(solution.len() <= ACTIONS_MAX, "{name}: {} actions", solution.len());
        for call in &solution {
            assert!(action::parse(call).is_ok(), "{name}: {call}");
        }
        tours.entry(template.level).or_default().push(solution.len());
    }
    for (level, lengths) in &tours {
        let average = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        println!("{level:?}: {average:.1} actions on average, at most {}", lengths.iter().max().expect("a draw"));
    }
    // A template asks for what is not stated never, or about half of the time.
    for (name, count) in unstated {
        let about_half = SEEDS / 10..=SEEDS * 9 / 10;
        assert!(count == 0 || about_half.contains(&count), "{name}: {count} of {SEEDS} are not stated");
    }
}

#[test]
fn a_correction_proves_a_number_without_the_article_that_it_corrects() {
    let names = ["news-visitors", "news-most-visitors", "news-total-from-place"];
    for (name, _, task) in draws(SEEDS).filter(|(_, template, _)| names.contains(&template.name)) {
        let site = task.site();
        let is_corrected = |page: &Page| page.links.iter().any(|link| link.address.starts_with("/corrections/"));
        let others = site.pages.iter().filter(|(at, page)| !(at.starts_with("/articles/") && is_corrected(page)));
        let others: Vec<&String> = others.map(|(at, _)| at).collect();
        let read: BTreeSet<&str> = others.iter().map(|at| at.as_str()).collect();
        assert!(site.lacking(&task.question, &read).is_empty(), "{name}");
        let found = reading(&site, others.into_iter()).answer(&task.question.text);
        assert!(right(&task.question.answer, found.as_deref()), "{name}: {found:?}");
    }
}

#[test]
fn whole_sites_give_the_same_answer_and_nothing_that_contradicts_it() {
    for (name, _, task) in draws(WHOLE_SEEDS) {
        let site = task.site();
        let found = reading(&site, site.pages.keys()).answer(&task.question.text);
        assert!(
            right(&task.question.answer, found.as_deref()),
            "{name}: {found:?} instead of {:?}",
            task.question.answer
        );
    }
}

#[test]
fn other_answers_are_wrong() {
    for (name, _, task) in draws(SEEDS) {
        let answer = &task.question.answer;
        for hostile in ["", "yes", "not stated", "infeasible", &task.question.text] {
            assert!(!answer.accepts(hostile), "{name}: {hostile}");
        }
        let Some(words) = answer.words() else { continue };
        assert!(answer.accepts(&words) && answer.accepts(&format!(" {words}. ")), "{name}: {words}");
        for wrong in [
            format!("{words} or 1"),
            format!("{words} {words}"),
            format!("{words}, Alder"),
            format!("not {words}"),
            format!("x{words}"),
            format!("{words}7"),
            format!("The answer is {words}, or it is not"),
        ] {
            assert!(!answer.accepts(&wrong), "{name}: {wrong}");
        }
        let near = match answer {
            Answer::Number { value, units } => Answer::Number { value: value + 1, units },
            Answer::Date(date) => Answer::Date(date.tomorrow().expect("a day")),
            Answer::Time(minutes) => Answer::Time((minutes + 1) % 1_440),
            _ => continue,
        };
        assert!(!answer.accepts(&near.words().expect("words")), "{name}: {near:?}");
    }
}

#[test]
fn every_link_leads_to_a_page_and_every_page_can_be_reached() {
    for (name, _, task) in draws(WHOLE_SEEDS) {
        let site = task.site();
        let mut reached = BTreeSet::from(["/".to_owned()]);
        let mut waiting = vec!["/".to_owned()];
        while let Some(at) = waiting.pop() {
            let page = site.pages.get(&at).unwrap_or_else(|| panic!("{name}: nothing lies at {at}"));
            assert!(page.links.iter().all(|link| !link.name.is_empty()), "{name}: {at} has a link without a name");
            waiting
                .extend(page.links.iter().map(|link| link.address.clone()).filter(|next| reached.insert(next.clone())));
        }
        let all: BTreeSet<String> = site.pages.keys().cloned().collect();
        assert_eq!(reached, all, "{name}");
        assert!(site.get("/site.css", "").is_some() && site.get("/no-such-page", "").is_none());
    }
}

#[test]
fn pages_have_one_heading_a_language_and_labels() {
    let rule = |rule: &str| Selector::parse(rule).expect("a selector");
    for kind in Kind::ALL {
        for template in
            all().into_iter().filter(|template| template.kind == kind && template.level != Level::Two).step_by(3)
        {
            let site = drawn(&template, 3).site();
            for (at, page) in &site.pages {
                let document = Html::parse_document(&page.html);
                let count = |selector: &str| document.select(&rule(selector)).count();
                let name = format!("{} {at}", template.name);
                assert!(document.errors.is_empty(), "{name}: {:?}", document.errors);
                let once = ["html[lang]", "title", "main", "h1", "header", "footer", "main h1", "meta[name=viewport]"];
                for once in once {
                    assert_eq!(count(once), 1, "{name}: {once}");
                }
                assert_eq!(count("input"), count("label[for=q]"), "{name}: labels");
                assert_eq!(count("table"), count("table > caption"), "{name}: captions");
                assert_eq!(count("nav"), count("nav[aria-label]"), "{name}: names of navigation");
                assert_eq!(count("th"), count("th[scope]"), "{name}: scopes");
                let headings = rule("h1, h2, h3");
                let levels: Vec<&str> = document.select(&headings).map(|heading| heading.value().name()).collect();
                assert!(levels.windows(2).all(|two| *two != ["h1", "h3"]), "{name}: {levels:?}");
                let anchor_rule = rule("a");
                let anchors = document.select(&anchor_rule).map(|anchor| Link {
                    address: anchor.attr("href").expect("an address").to_owned(),
                    name: anchor.attr("aria-label").map_or_else(|| words(anchor), str::to_owned),
                });
                assert_eq!(page.links, anchors.collect::<Vec<Link>>(), "{name}");
                assert!(
                    !page.html.contains("http://") && !page.html.contains("https://"),
                    "{name}: resources from elsewhere"
                );
            }
        }
    }
}

#[test]
fn the_search_finds_titles_and_repeats_no_markup() {
    for kind in Kind::ALL {
        let template = all().into_iter().find(|template| template.kind == kind).expect("a template");
        let site = drawn(&template, 1).site();
        let (at, page) = site.pages.iter().next_back().expect("a page");
        let (_, found) = site.get("/search", &page.title).expect("results");
        assert!(found.contains(&format!("href=\"{at}\"")), "{kind:?}: {}", page.title);
        let (_, hostile) = site.get("/search", "<script>alert(1)</script>").expect("results");
        assert!(!hostile.contains("<script"), "{kind:?}");
        assert!(site.missing().contains("<h1>Page not found</h1>"));
        let found_by = |query: &str| site.get("/search", query).expect("results").1;
        assert!(found_by("no such words").contains("”: 0."), "{kind:?}");
    }
}

#[test]
fn a_search_with_many_results_tells_their_number_and_shows_the_first() {
    let template = all().into_iter().find(|template| template.name == "news-total-from-place").expect("a template");
    let site = drawn(&template, 1).site();
    let count = site.pages.values().filter(|page| page.title.to_lowercase().contains("fills")).count();
    assert!(count > 20, "{count}");
    let (_, found) = site.get("/search", "Fills").expect("results");
    assert!(found.contains(&format!("”: {count}.")) && found.contains("These are the first 20."), "{found}");
    let (_, main) = found.split_once("<main>").expect("a main part");
    assert_eq!(main.matches("<a ").count(), 20);
}

/// Pages that a reader opens who follows links named in the question, and others without aim, until it has opened so many.
fn wander(site: &Site, question: &str, budget: usize, seed: u64) -> BTreeSet<String> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut chance = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below.max(1) as u64).expect("small")
    };
    let mut at = "/".to_owned();
    let mut seen = BTreeSet::from([at.clone()]);
    for _ in 0..budget {
        let links = &site.pages[&at].links;
        let fresh: Vec<&str> =
            links.iter().filter(|link| !seen.contains(&link.address)).map(|link| link.address.as_str()).collect();
        let named = links.iter().filter(|link| !seen.contains(&link.address) && question.contains(&link.name));
        let named: Vec<&str> = named.map(|link| link.address.as_str()).collect();
        let choice = if named.is_empty() { fresh } else { named };
        at = choice.get(chance(choice.len())).map_or("/", |next| *next).to_owned();
        seen.insert(at.clone());
    }
    seen
}

#[test]
fn a_reader_without_a_plan_succeeds_less_often_the_higher_the_level() {
    const BUDGET: usize = 12;
    let mut rates: BTreeMap<Level, (u64, u64)> = BTreeMap::new();
    for (_, template, task) in draws(SEEDS) {
        let (site, question) = (task.site(), &task.question);
        let seen = wander(&site, &question.text, BUDGET, rates.len() as u64 + question.text.len() as u64);
        let read: BTreeSet<&str> = seen.iter().map(String::as_str).collect();
        let proven = site.lacking(question, &read).is_empty();
        let solved = proven && right(&question.answer, reading(&site, seen.iter()).answer(&question.text).as_deref());
        assert_eq!(proven, solved, "what proves an answer tells it: {}", question.text);
        let rate = rates.entry(template.level).or_default();
        *rate = (rate.0 + u64::from(solved), rate.1 + 1);
    }
    let shares: Vec<f64> = rates.values().map(|(solved, count)| *solved as f64 / *count as f64).collect();
    println!("{BUDGET} pages without a plan: {shares:.3?} by level");
    assert!(shares.windows(2).all(|two| two[0] > two[1]), "{shares:?}");
    assert!(shares[0] > 0.2 && shares[3] < 0.2, "{shares:?}");
}
