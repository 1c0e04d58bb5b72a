//! The audit of a template's draws. Of many seeds the first draw is looked at, so that nothing stands in for what was thrown
//! away: every draw is a task, is thrown away for a reason that is counted, or shows a fault.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::SPLIT;
use super::ambiguous_names::namesakes;
use super::chances::{Chances, LuckySolution};
use super::contradictions::StatedArguments;
use super::distribution::{Counting, Distribution, Missing};
use super::finding::{Finding, Kind};
use super::knowledge::Knowledge;
use super::order::{stale, tied};
use super::refusal::Refusals;
use super::similarity::Similarity;
use super::{twins, unstated};
use crate::app::App;
use crate::app::task::Param;
use crate::draw::{Drawn, reach};
use crate::json::Codec;
use crate::task::draw_key::{DrawKey, Order, begin};
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::outcome::{Flaw, Redraw, Rule, ShownDraw, Unfit};
use crate::value::Value;

/// The share of draws that `require`, references and gaps may throw away: beyond it, more than one seed in two hundred has no task
/// among the attempts that it has.
pub(super) const THROWN_AWAY_MOST: f64 = 0.9;
/// Draws below which nothing is said of shares.
const DRAWS_LEAST: u64 = 40;
/// Tasks that are compared with those beside them.
const TASKS_COMPARED: u64 = 200;
/// Tasks whose solution is looked at for what nothing tells.
const TASKS_READ: u64 = 40;
/// Tasks that are taken for tasks of other templates.
const TASKS_TWINNED: u64 = 20;
/// Draws that `require` throws away and whose solution is played all the same.
const THROWN_AWAY_PLAYED: u64 = 200;
/// Draws of a template without a solution, for each of which a way is searched for.
const DRAWS_SEARCHED: u64 = 10;

/// Figures of the draws of a template.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DrawFigures {
    /// Draws that were made: the first of as many seeds.
    pub made: u64,
    /// Those of them that are tasks.
    pub accepted: u64,
    /// Those that were thrown away, by reason.
    pub again: BTreeMap<String, u64>,
    /// Those that show a fault of the definition, by its sort.
    pub faulty: BTreeMap<String, u64>,
    /// Distributions of the parameters.
    pub parameters: Vec<Distribution>,
    /// Tasks whose neighbours, with one parameter drawn anew, were looked at.
    pub looked_beside: u64,
    /// Neighbours that were played.
    pub compared: u64,
    /// Solutions that were played in episodes of other seeds, with all events of chance, and with none.
    pub episodes: u64,
    /// Refusals that the solution of the feasible twin met with.
    pub refused_twins: u64,
    /// Refusals that another call met with, whatever else it was given.
    pub refused_calls: u64,
    /// Refusals that a call met with which is not refused with some other arguments.
    pub refused_arguments: u64,
    /// Refusals for which a way around what stands in the way was searched for in vain.
    pub refusals_searched: u64,
    /// Refusals for which none was searched for: their twin has drawn parameters that they lack, or there is none.
    pub refusals_without_twin: u64,
    /// Draws thrown away by `require` whose solution was played all the same.
    pub thrown_away_played: u64,
    /// Tasks whose columns were changed together alone, though they are solved in a new way or show something new.
    pub passed_over: u64,
}

struct Audit<'a> {
    app: &'a Arc<App>,
    place: usize,
    figures: DrawFigures,
    countings: Vec<Counting>,
    similarity: Similarity,
    knowledge: Knowledge,
    told: StatedArguments,
    chances: Chances,
    refusals: Refusals,
    findings: BTreeMap<(Kind, Option<usize>), Finding>,
    /// A seed that was thrown away, by reason.
    thrown: BTreeMap<Redraw, u64>,
}

/// Audits the draws of a template; answers what was counted, and what is wrong.
pub(super) fn audit(
    app: &Arc<App>,
    place: usize,
    draws: u64,
    goes_on: &dyn Fn() -> bool,
) -> (DrawFigures, Vec<Finding>) {
    let template = &app.templates[place];
    let draws = if template.solution.is_some() { draws } else { draws.min(DRAWS_SEARCHED) };
    let mut audit = Audit {
        app,
        place,
        figures: DrawFigures::default(),
        countings: Counting::of(app, &template.params),
        similarity: Similarity::of(template),
        knowledge: Knowledge::of(app),
        told: StatedArguments::default(),
        chances: Chances::default(),
        refusals: Refusals::default(),
        findings: BTreeMap::new(),
        thrown: BTreeMap::new(),
    };
    for seed in (0..draws).take_while(|_| goes_on()) {
        audit.draw(seed);
    }
    audit.finish()
}

impl Audit<'_> {
    fn draw_key(&self, seed: u64) -> DrawKey<'_> {
        DrawKey { app: self.app, template: self.place, split: SPLIT, seed, attempt: 0, rule: Rule::Strict }
    }

    fn params(&self) -> &[Param] {
        &self.app.templates[self.place].params
    }

    fn draw(&mut self, seed: u64) {
        let app = self.app;
        let draw_key = DrawKey { app, template: self.place, split: SPLIT, seed, attempt: 0, rule: Rule::Strict };
        let Drawn { values, text, task } = draw_key.draw(&|_| true);
        self.figures.made += 1;
        if let Ok(data) = draw_key.base() {
            for counting in &mut self.countings {
                counting.count(draw_key, data, &values, task.is_ok());
            }
        }
        match task {
            Ok(instance) => {
                self.figures.accepted += 1;
                self.look(draw_key, &instance);
            }
            Err(Unfit::Again(redraw)) => {
                self.hidden(draw_key, &redraw, values);
                *self.figures.again.entry(redraw.to_string()).or_insert(0) += 1;
                self.thrown.entry(redraw).or_insert(seed);
            }
            Err(Unfit::Flawed(flaw)) => {
                *self.figures.faulty.entry(flaw.word().to_owned()).or_insert(0) += 1;
                self.flawed(flaw, || draw_key.shown(&values, text.as_deref()));
            }
        }
    }

    /// Notes a fault that a draw shows: of each sort one is told, with how often it came.
    fn flawed(&mut self, flaw: Flaw, shown: impl FnOnce() -> ShownDraw) {
        let known = self.findings.values_mut().find(|finding| finding.kind.word() == flaw.word());
        if let Some(known) = known {
            known.draws += 1;
            return;
        }
        let shown = shown();
        let finding = Finding {
            message: flaw.to_string(),
            kind: Kind::Flaw(flaw),
            template: Arc::clone(&shown.template),
            parameter: None,
            draws: 1,
            shown: Some(shown),
        };
        self.findings.insert((finding.kind.clone(), None), finding);
    }

    /// Plays what a condition of `require` throws away. A solution that fails is what such conditions are for; one that is played
    /// to its end and misses the goal shows a goal that is wrong there.
    fn hidden(&mut self, draw_key: DrawKey<'_>, redraw: &Redraw, values: Vec<Value>) {
        let Redraw::Require(condition) = redraw else { return };
        if self.figures.thrown_away_played >= THROWN_AWAY_PLAYED {
            return;
        }
        let Ok(instance) = draw_key.prepare(values, Order::None) else { return };
        let Ok((instance, _)) = begin(Arc::new(instance)) else { return };
        let Ok(start) = Episode::begin(&instance, 0) else { return };
        self.figures.thrown_away_played += 1;
        if let Err(Flaw::Misses(why)) = reach(start) {
            let message = format!(
                "`{condition}` throws draws away in which the solution is played to its end and misses the goal: mend goal or \
                 solution, or draw from what fits in the first place ({why})"
            );
            self.note(Kind::RequireHides, None, message, draw_key.seed);
        }
    }

    /// Looks whether a task could be taken for another.
    fn look(&mut self, draw_key: DrawKey<'_>, instance: &Arc<Instance>) {
        if let Some((parameter, rows)) = namesakes(draw_key, instance) {
            let name = &self.params()[parameter].name;
            let message = format!(
                "the text names {name} by what {rows} rows have that the agent sees: tell more of it, and list in `refer` what \
                 tells it apart"
            );
            self.note(Kind::Namesake, Some(parameter), message, draw_key.seed);
        }
        if let Some(parameter) = stale(draw_key, instance) {
            let name = &self.params()[parameter].name;
            let message = format!(
                "{name} follows from the data before `setup` and `plant`, and is another one when the task begins: prepare what \
                 leaves it as it is, or tell its value"
            );
            self.note(Kind::Stale, Some(parameter), message, draw_key.seed);
        }
        if let Some(check) = tied(instance) {
            let message = format!(
                "the goal hangs on the order in which rows were made, which nothing tells ({check}): break ties in the goal, \
                 exclude them by `require`, or sort the list"
            );
            self.note(Kind::Ambiguous, None, message, draw_key.seed);
        }
        let unseen = self.findings.contains_key(&(Kind::Unseen, None));
        if !unseen && let Some(column) = self.knowledge.unseen(draw_key, instance) {
            let message = format!(
                "the goal follows from {column}, which neither the text nor any call of the solution shows: look it up in the \
                 solution, or tell it"
            );
            self.note(Kind::Unseen, None, message, draw_key.seed);
        }
        match self.chances.look(instance) {
            None => {}
            Some(LuckySolution::Flaw(flaw)) => {
                self.flawed(flaw, || draw_key.shown(&instance.values, Some(&instance.text)));
            }
            Some(LuckySolution::Unseen(place)) => {
                let message = format!(
                    "the goal follows from what happens by chance, and no call of the solution shows it ({place}): look it up in \
                     the solution"
                );
                self.note(Kind::Unseen, None, message, draw_key.seed);
            }
        }
        if let Some(instead) = self.refusals.unfounded(draw_key, instance) {
            let message = format!(
                "the task is called impossible, but no call that names what stands in the way is refused as the answer says: \
                 {instead}; mend code, parameters or set-up, or name the feasible template in `twin_of`"
            );
            self.note(Kind::Unfounded, None, message, draw_key.seed);
        }
        self.told.count(instance, draw_key.seed);
        if self.figures.accepted <= TASKS_READ
            && let Some(argument) = unstated::untold(instance)
        {
            let message = format!(
                "the solution writes {argument} in every task, which neither the text nor any call before it tells: tell it"
            );
            self.note(Kind::Untold, None, message, draw_key.seed);
        }
        if self.figures.accepted <= TASKS_TWINNED
            && let Some(twin) = twins::twin(draw_key, instance)
        {
            let other = &self.app.templates[twin].name;
            let message = format!(
                "a task of {other} begins with the same data, reads the same and is solved otherwise: tell the two apart in their \
                 texts, or draw them from unlike data"
            );
            self.note(Kind::SameText, None, message, draw_key.seed);
        }
        if self.figures.looked_beside < TASKS_COMPARED {
            self.figures.looked_beside += 1;
            if let Some(found) = self.similarity.look(draw_key, instance) {
                let name = &self.params()[found.parameter].name;
                let message = format!(
                    "the text fits several tasks: with {name} = {} it reads the same, begins with the same data and is solved \
                     otherwise",
                    found.other
                );
                self.note(Kind::Ambiguous, Some(found.parameter), message, draw_key.seed);
            }
        }
    }

    /// Notes a fault once, with the first draw that shows it.
    fn note(&mut self, kind: Kind, parameter: Option<usize>, message: String, seed: u64) {
        let key = (kind.clone(), parameter);
        if let Some(known) = self.findings.get_mut(&key) {
            known.draws += 1;
            return;
        }
        let finding = Finding {
            kind,
            template: Arc::clone(&self.app.templates[self.place].name),
            parameter: parameter.map(|place| Arc::clone(&self.params()[place].name)),
            message,
            draws: 1,
            shown: Some(self.shown(seed)),
        };
        self.findings.insert(key, finding);
    }

    /// The first draw of a seed, made once more to be shown.
    fn shown(&self, seed: u64) -> ShownDraw {
        let draw_key = self.draw_key(seed);
        let drawn = draw_key.draw(&|_| true);
        draw_key.shown(&drawn.values, drawn.text.as_deref())
    }

    fn finish(mut self) -> (DrawFigures, Vec<Finding>) {
        self.figures.compared = self.similarity.compared;
        self.figures.passed_over = self.knowledge.passed_over;
        self.figures.episodes = self.chances.played;
        let Refusals { by_twin, by_call, by_arguments, searched, without_twin } = self.refusals;
        self.figures.refused_twins = by_twin;
        self.figures.refused_calls = by_call;
        self.figures.refused_arguments = by_arguments;
        self.figures.refusals_searched = searched;
        self.figures.refusals_without_twin = without_twin;
        self.figures.parameters =
            self.countings.iter().filter(|counting| counting.tells()).map(Counting::spread).collect();
        self.ignored();
        self.contradicted();
        // What faults throw away is missing for their sake.
        if self.figures.faulty.is_empty() {
            self.missing();
            self.thrown_away();
        }
        (self.figures, self.findings.into_values().collect())
    }

    fn ignored(&mut self) {
        let app = self.app;
        let template = &app.templates[self.place];
        for found in self.similarity.ignored(template) {
            let param = &template.params[found.parameter];
            let compared = found.compared;
            let message = match &found.values {
                None => format!(
                    "the text tells {}, but no other value of it asks for anything else ({compared} were tried); what only \
                     changes the wording belongs into several wordings of `text`",
                    param.name
                ),
                Some((one, other)) => {
                    let data = crate::data::Data::new(Arc::clone(&app.schema), 0);
                    let show = |value: &Value| Codec::new(&app.schema).show(value, &param.kind, &data);
                    format!(
                        "the text tells whether {} is {} or {}, but both ask for the same ({compared} were tried)",
                        param.name,
                        show(one),
                        show(other)
                    )
                }
            };
            self.note(Kind::Ignored, Some(found.parameter), message, found.seed);
        }
    }

    fn contradicted(&mut self) {
        let app = self.app;
        let template = &app.templates[self.place];
        for found in self.told.contradicted(template) {
            let name = &template.params[found.parameter].name;
            let message = format!(
                "the text tells {name}, which {} repeats, but for {} it has {} instead, in each of {} tasks: goal and \
                 solution contradict the text",
                found.call, found.told, found.done, found.tasks
            );
            self.note(Kind::Contradicted, Some(found.parameter), message, found.seed);
        }
    }

    fn missing(&mut self) {
        if self.figures.accepted == 0 {
            return;
        }
        let share = self.figures.accepted as f64 / self.figures.made as f64;
        let single = self.countings.iter().flat_map(|counting| counting.missing(share));
        let runs = self.countings.iter().flat_map(|counting| counting.lost_runs(self.app, share));
        let missing: Vec<Missing> = single.chain(runs).collect();
        for found in missing {
            let Missing { parameter, name, value, drawn, seed } = found;
            let (kind, message) = match seed {
                Some(_) => {
                    let message =
                        format!("{name} is never {value} in a task: each of the {drawn} draws with it is thrown away");
                    (Kind::NeverSurvives, message)
                }
                None => (Kind::NeverDrawn, format!("{name} is never {value}: no draw has it, though it is listed")),
            };
            match self.findings.get_mut(&(kind.clone(), Some(parameter))) {
                // A value that is lost is lost with its neighbours, too.
                Some(known) if known.message.contains(&message) => {}
                Some(known) => known.message = format!("{}; {message}", known.message),
                None => self.note(kind, Some(parameter), message, seed.unwrap_or(0)),
            }
        }
    }

    fn thrown_away(&mut self) {
        let again: u64 = self.figures.again.values().sum();
        if self.figures.made < DRAWS_LEAST || again as f64 <= THROWN_AWAY_MOST * self.figures.made as f64 {
            return;
        }
        let most = self.thrown.iter().max_by_key(|(why, _)| self.figures.again.get(&why.to_string()).copied());
        let Some((why, seed)) = most.map(|(why, seed)| (why.to_string(), *seed)) else { return };
        let message = format!(
            "{again} of {} draws are thrown away, most of them because {why}: draw from what fits in the first place",
            self.figures.made
        );
        self.note(Kind::ThrownAway, None, message, seed);
    }
}
