//! Proofs: whether the pages that were read state the facts that an answer rests on, and tours by links to such pages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use palestra_widgets::{named, quoted};

use crate::{Fact, Question, Site};

/// The address at which everyone begins.
const HOME: &str = "/";

impl Site {
    /// Facts that none of these pages states, of the set of facts that lacks fewest; empty if the pages prove the answer.
    #[must_use]
    pub fn lacking<'q>(&self, question: &'q Question, read: &BTreeSet<&str>) -> Vec<&'q Fact> {
        self.nearest_way(question, read).iter().filter(|fact| !self.any_says(read, fact)).collect()
    }

    /// The pages of these that state a fact of the set of facts that lacks fewest.
    #[must_use]
    pub fn proving<'a>(&self, question: &Question, read: &BTreeSet<&'a str>) -> Vec<&'a str> {
        let way = self.nearest_way(question, read);
        read.iter().copied().filter(|address| way.iter().any(|fact| self.says(address, fact))).collect()
    }

    /// The set of facts of which these pages lack fewest; the first of several.
    fn nearest_way<'q>(&self, question: &'q Question, read: &BTreeSet<&str>) -> &'q [Fact] {
        let lacks = |way: &&Vec<Fact>| way.iter().filter(|fact| !self.any_says(read, fact)).count();
        question.ways.iter().min_by_key(lacks).map_or(&[], Vec::as_slice)
    }

    fn any_says(&self, read: &BTreeSet<&str>, fact: &Fact) -> bool {
        read.iter().any(|address| self.says(address, fact))
    }

    fn says(&self, address: &str, fact: &Fact) -> bool {
        self.pages.get(address).is_some_and(|page| page.states.contains(fact))
    }

    /// Pages on the shortest tour from the first page that a greedy reader finds, one link after the other; none where a fact of every
    /// way is stated nowhere.
    #[must_use]
    pub fn tour(&self, question: &Question) -> Option<Vec<String>> {
        let tours = question.ways.iter().filter_map(|way| self.tour_of(way));
        tours.min_by_key(Vec::len)
    }

    fn tour_of(&self, way: &[Fact]) -> Option<Vec<String>> {
        let mut tour = vec![HOME.to_owned()];
        let mut open: BTreeSet<&Fact> = way.iter().filter(|fact| !self.says(HOME, fact)).collect();
        while !open.is_empty() {
            let from = tour.last()?.clone();
            let steps = self.nearest(&from, &open)?;
            for address in &steps {
                open.retain(|fact| !self.says(address, fact));
            }
            tour.extend(steps);
        }
        Some(tour)
    }

    /// Pages after `from` on the shortest way to one that states some of these; of several as near, the one that states most.
    fn nearest(&self, from: &str, open: &BTreeSet<&Fact>) -> Option<Vec<String>> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut waiting = VecDeque::from([(from, 0_usize)]);
        let mut best: Option<(usize, usize, &str)> = None;
        while let Some((address, distance)) = waiting.pop_front() {
            if best.is_some_and(|(_, nearest, _)| distance > nearest) {
                break;
            }
            let page = self.pages.get(address)?;
            let gain = open.iter().filter(|fact| page.states.contains(**fact)).count();
            if gain > best.map_or(0, |(most, ..)| most) {
                best = Some((gain, distance, address));
            }
            for link in &page.links {
                let Some((next, _)) = self.pages.get_key_value(&link.address) else { continue };
                if next != from && !before.contains_key(next.as_str()) {
                    before.insert(next, address);
                    waiting.push_back((next, distance + 1));
                }
            }
        }
        let (.., last) = best?;
        let mut steps: Vec<String> =
            std::iter::successors(Some(last), |at| before.get(at).copied()).map(str::to_owned).collect();
        steps.pop();
        steps.reverse();
        Some(steps)
    }

    /// Actions that follow a tour by clicks, as BrowserGym writes them, and tell the answer.
    #[must_use]
    pub fn solution(&self, question: &Question) -> Option<Vec<String>> {
        let tour = self.tour(question)?;
        let clicks = tour.iter().zip(tour.iter().skip(1)).map(|(from, to)| self.click(from, to));
        let mut actions = clicks.collect::<Option<Vec<String>>>()?;
        actions.push(match question.answer.words() {
            Some(words) => format!("send_msg_to_user({})", quoted(&words)),
            None => format!("report_infeasible({})", quoted("the site does not state it")),
        });
        Some(actions)
    }

    /// The click on the first link of a page that leads to another.
    fn click(&self, from: &str, to: &str) -> Option<String> {
        let links = &self.pages.get(from)?.links;
        let place = links.iter().position(|link| link.address == to)?;
        let name = &links[place].name;
        let same = |links: &[crate::Link]| links.iter().filter(|link| link.name == *name).count();
        let element = named("link", name);
        if same(links) == 1 {
            return Some(format!("click({element})"));
        }
        Some(format!("click({}[nth={}]')", element.trim_end_matches('\''), same(&links[..place])))
    }
}
