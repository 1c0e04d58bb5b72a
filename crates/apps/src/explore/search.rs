//! The search: breadth first, from state to state, by the calls that succeed and by waiting for what is due next.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use palestra_state::Digest;
use serde_json::{Map, Value as Json, json};

use super::alphabet::{Alphabet, ExtraValues};
use super::classes::{Classes, Tried};
use super::coverage::Coverage;
use super::identity::{Identity, StateDelta};
use super::{Cut, Options};
use crate::app::{App, Callable, Parameter, Role};
use crate::kinds::{TableId, Type};
use crate::run::{CallError, WAIT_SECONDS_MAX, World, broken_invariants};
use crate::task::call::Call;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::subject::{GoalSubject, submission};
use crate::task::verdict::strict;

/// Goes through the states of an app.
pub(super) struct Search<'a> {
    pub(super) app: Arc<App>,
    pub(super) options: Options,
    pub(super) alphabet: Alphabet,
    pub(super) identity: Identity,
    /// Actions that are called, and by whom.
    pub(super) actions: Vec<(usize, Role)>,
    /// The task, if the search is for its goal too.
    pub(super) task: Option<(&'a Arc<Instance>, GoalSubject)>,
    /// True if it ends at the first goal.
    pub(super) until_goal: bool,
    /// True if states are left aside that differ from the beginning in what the goal does not list.
    pub(super) straight: bool,
    pub(super) found: Found,
    by_digest: HashMap<Digest, usize>,
    queue: VecDeque<(usize, World, StateDelta)>,
}

/// Result of a search.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) states: Vec<Reached>,
    pub(super) moves: Vec<Move>,
    pub(super) coverage: Coverage,
    /// The first state in which each broken invariant is broken.
    pub(super) breaches: BTreeMap<Arc<str>, usize>,
    /// Calls at which the definition proved to be at fault, by the message: the state before, and the call.
    pub(super) crashes: BTreeMap<String, (usize, Call)>,
    /// The first state in which the goal holds, and what is submitted there.
    pub(super) goal: Option<(usize, Call)>,
    pub(super) calls: u64,
    pub(super) cut: Cut,
}

/// Arguments of a call that succeeded, with the world after it.
type Succeeded = (Map<String, Json>, World);

/// A state that was reached.
#[derive(Debug)]
pub(super) struct Reached {
    /// Number of moves from the beginning.
    pub(super) depth: usize,
    /// From where, and how.
    pub(super) from: Option<(usize, Call)>,
    /// True if the goal holds.
    pub(super) goal: bool,
    /// True if moves from it were left out.
    pub(super) open: bool,
}

/// A way from one state to another.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) call: Call,
}

impl<'a> Search<'a> {
    pub(super) fn new(app: &Arc<App>, options: Options, task: Option<(&'a Arc<Instance>, GoalSubject)>) -> Self {
        let template = task.as_ref().map(|(instance, _)| instance.template());
        Self {
            app: Arc::clone(app),
            options,
            alphabet: Alphabet::new(app, options.arguments_max),
            identity: Identity::new(app, template),
            actions: callable(app),
            task,
            until_goal: false,
            straight: false,
            found: Found {
                states: Vec::new(),
                moves: Vec::new(),
                coverage: Coverage::new(app),
                breaches: BTreeMap::new(),
                crashes: BTreeMap::new(),
                goal: None,
                calls: 0,
                cut: Cut::default(),
            },
            by_digest: HashMap::new(),
            queue: VecDeque::new(),
        }
    }

    /// Goes on until there is nothing new, or a bound is reached.
    pub(super) fn run(mut self, start: World) -> Found {
        self.arrive(start, None);
        while let Some((state, world, seen)) = self.queue.pop_front() {
            if self.found.goal.is_some() && self.until_goal {
                break;
            }
            let depth = self.found.states[state].depth;
            if depth >= self.options.depth_max || self.found.calls >= self.options.calls_max {
                self.found.states[state].open = true;
                self.found.cut.depth |= depth >= self.options.depth_max;
                self.found.cut.calls |= self.found.calls >= self.options.calls_max;
                continue;
            }
            for place in 0..self.actions.len() {
                self.try_action(state, &world, &seen, place);
            }
            self.try_views(state, &world, &seen);
            self.try_wait(state, &world);
        }
        self.found
    }

    /// Every call of an action that is worth a try.
    fn try_action(&mut self, state: usize, world: &World, seen: &StateDelta, place: usize) {
        let (action, role) = self.actions[place];
        let app = Arc::clone(&self.app);
        let around = ExtraValues { world, fresh: &seen.fresh, narrow: false };
        let described = &app.actions[action];
        let mut tried: Vec<Tried> = Vec::new();
        for arguments in self.alphabet.arguments(&app, action, &around) {
            self.found.calls += 1;
            match world.probe(role, described, &arguments) {
                Ok(truths) => tried.push((arguments, truths)),
                Err(stop) => self.stopped(state, &described.name, arguments, &stop),
            }
        }
        let parameters = &described.parameters;
        let named = self.task.as_ref().map(|(_, subject)| subject.rows.as_slice()).unwrap_or_default();
        let named: BTreeSet<&str> = named.iter().filter_map(|row| world.data().id(*row)).map(|id| &**id).collect();
        let fresh = |id: &str| named.contains(id) || seen.fresh.keys().any(|table| seen.is_fresh(world, *table, id));
        let classes = (!self.alphabet.lean).then(|| Classes::of(parameters, &tried, &fresh));
        let mut succeeding: BTreeMap<String, Vec<Succeeded>> = BTreeMap::new();
        for (arguments, truths) in tried {
            let fails = truths.iter().any(|truth| *truth != Some(true));
            let new = self.found.coverage.guards(action, &truths);
            let stands = classes.as_ref().is_none_or(|classes| classes.stands(parameters, &arguments));
            // A call that a guard refuses is made once, to see the error.
            if if fails { new.is_none() } else { !stands } {
                continue;
            }
            self.found.calls += 1;
            let mut after = world.clone();
            match after.call(role, &described.name, &arguments) {
                Ok(_) => {
                    self.found.coverage.succeeded(action);
                    let alike = succeeding.entry(kept_apart(parameters, &arguments)).or_default();
                    // Of calls on the same rows the first and the last are taken: the ends of what is allowed.
                    if !self.alphabet.lean && alike.len() > 1 {
                        alike.pop();
                    }
                    alike.push((arguments, after));
                }
                Err(stop) => self.stopped(state, &described.name, arguments, &stop),
            }
        }
        for (arguments, after) in succeeding.into_values().flatten() {
            let call = Call { name: Arc::clone(&app.actions[action].name), arguments };
            self.arrive(after, Some((state, call)));
        }
    }

    /// Reading changes nothing, unless it is counted.
    fn try_views(&mut self, state: usize, world: &World, seen: &StateDelta) {
        let app = Arc::clone(&self.app);
        let around = ExtraValues { world, fresh: &seen.fresh, narrow: false };
        for name in self.identity.counted.clone() {
            let Some(Callable::View(place)) = app.calls.get(&name) else { continue };
            let view = &app.views[*place];
            let mut arguments = Map::new();
            for parameter in view.all_parameters(&app.schema).iter().filter(|parameter| parameter.required()) {
                let choices = self.alphabet.choices(parameter, &super::hints::Hint::default(), &around);
                if let Some(Some(value)) = choices.into_iter().next() {
                    arguments.insert(parameter.name.to_string(), value);
                }
            }
            let Some(role) = view.who.iter().find(|role| **role != Role::SYSTEM) else { continue };
            let mut after = world.clone();
            self.found.calls += 1;
            match after.call(*role, &name, &arguments) {
                Ok(_) => self.arrive(after, Some((state, Call { name, arguments }))),
                Err(stop) => self.stopped(state, &name, arguments, &stop),
            }
        }
    }

    /// The clock jumps to what is due next.
    fn try_wait(&mut self, state: usize, world: &World) {
        let Some(due) = world.next_due() else { return };
        let seconds = (due - world.now()).max(1);
        let arguments = Map::from_iter([("seconds".to_owned(), json!(seconds))]);
        if seconds > WAIT_SECONDS_MAX {
            self.found.cut.wait = true;
            self.found.states[state].open = true;
            return;
        }
        let mut stepped = world.clone();
        while stepped.next_due().is_some_and(|next| next <= due) {
            self.found.calls += 1;
            match stepped.occur() {
                Ok(None) => {}
                Ok(Some(occurrence)) => self.found.coverage.occurred(&occurrence),
                Err(_) => break,
            }
        }
        let mut after = world.clone();
        match after.wait(seconds) {
            Ok(()) => self.arrive(after, Some((state, Call { name: "wait".into(), arguments }))),
            Err(stop) => self.stopped(state, &"wait".into(), arguments, &stop),
        }
    }

    /// Takes a state up, if it is new.
    fn arrive(&mut self, world: World, from: Option<(usize, Call)>) {
        let seen = self.identity.see(&world);
        if let Some(known) = self.by_digest.get(&seen.digest) {
            if let Some((from, call)) = from.filter(|(from, _)| from != known) {
                self.found.moves.push(Move { from, to: *known, call });
            }
            return;
        }
        if let Some((origin, _)) = &from {
            if self.straight && self.task.as_ref().is_some_and(|(instance, subject)| subject.strays(instance, &world)) {
                return;
            }
            if seen.created.iter().any(|(table, count)| *count > self.created_max(*table)) {
                self.found.cut.created = true;
                return;
            }
            if self.found.states.len() >= self.options.states_max {
                self.found.cut.states = true;
                self.found.states[*origin].open = true;
                return;
            }
        }
        let state = self.found.states.len();
        self.by_digest.insert(seen.digest, state);
        for broken in broken_invariants(&self.app, world.data()) {
            self.found.breaches.entry(broken).or_insert(state);
        }
        let submitted = self.goal(&world);
        let depth = from.as_ref().map_or(0, |(from, _)| self.found.states[*from].depth + 1);
        if let Some((from, call)) = &from {
            self.found.moves.push(Move { from: *from, to: state, call: call.clone() });
        }
        self.found.states.push(Reached { depth, from, goal: submitted.is_some(), open: false });
        if let (None, Some(submitted)) = (&self.found.goal, submitted) {
            self.found.goal = Some((state, submitted));
        }
        self.queue.push_back((state, world, seen));
    }

    fn created_max(&self, table: TableId) -> usize {
        let subject = self.task.as_ref().and_then(|(_, subject)| subject.created.get(&table).copied()).unwrap_or(0);
        self.options.created_max.max(subject)
    }

    /// Submission in a state in which the goal holds then.
    fn goal(&self, world: &World) -> Option<Call> {
        let (instance, _) = self.task.as_ref()?;
        let submission = submission(instance, world);
        let mut episode = Episode::at(instance, world.clone());
        episode.perform(&submission.name, &submission.arguments).ok()?;
        episode.judge().is_ok_and(|checks| strict(&checks)).then_some(submission)
    }

    fn stopped(&mut self, state: usize, name: &Arc<str>, arguments: Map<String, Json>, stop: &CallError) {
        match stop {
            CallError::Raised(raised) => self.found.coverage.raised(&raised.code),
            CallError::Crashed(error) => {
                let call = Call { name: Arc::clone(name), arguments };
                self.found.crashes.entry(format!("{name}: {error}")).or_insert((state, call));
            }
        }
    }
}

impl Found {
    /// The calls that lead to a state; none are shorter within what was tried.
    pub(super) fn path(&self, state: usize) -> Vec<Call> {
        let mut calls = Vec::new();
        let mut at = state;
        while let Some((from, call)) = self.states.get(at).and_then(|state| state.from.as_ref()) {
            calls.push(call.clone());
            at = *from;
        }
        calls.reverse();
        calls
    }
}

/// Actions that somebody other than the system may call, and who does it: the agent where it may.
fn callable(app: &App) -> Vec<(usize, Role)> {
    let caller = |who: &[Role]| {
        [Role::AGENT, Role::USER]
            .into_iter()
            .find(|role| who.contains(role))
            .or_else(|| who.iter().copied().find(|role| *role != Role::SYSTEM))
    };
    app.actions.iter().enumerate().filter_map(|(place, action)| Some((place, caller(&action.who)?))).collect()
}

/// The arguments by which calls are kept apart: rows and words, and which of the others are given.
fn kept_apart(parameters: &[Parameter], arguments: &Map<String, Json>) -> String {
    fn tells(kind: &Type) -> bool {
        match kind.present() {
            Type::Row(_) | Type::Enum(_) | Type::Bool => true,
            Type::List(element) => tells(element),
            Type::Record(fields) => fields.iter().any(|(_, kind)| tells(kind)),
            _ => false,
        }
    }
    let shown = parameters.iter().map(|parameter| match arguments.get(&*parameter.name) {
        Some(value) if tells(&parameter.kind) => value.to_string(),
        Some(_) => "given".to_owned(),
        None => String::new(),
    });
    shown.collect::<Vec<_>>().join(" ")
}
