//! `tasks`: task templates.

use super::action::{EffectDefinition, RESERVED, effects, variable};
use super::draw::DrawDefinition;
use super::goal::GoalDefinition;
use super::solution::{StepDefinition, steps};
use super::{Entries, EventDefinition, Name, listed, maybe};
use crate::syntax::read::At;
use crate::syntax::source::Source;

/// A task template.
#[derive(Debug, Clone)]
pub struct TaskDefinition {
    /// True if an obstacle makes it impossible.
    pub infeasible: bool,
    /// The template that it is a twin of.
    pub twin_of: Option<Name>,
    /// Parameters, in order.
    pub params: Entries<DrawDefinition>,
    /// Effects before the episode begins.
    pub setup: Vec<EffectDefinition>,
    /// Effects that add near misses.
    pub plant: Vec<EffectDefinition>,
    /// Conditions at the beginning.
    pub require: Vec<Source>,
    /// Templates of the instruction.
    pub text: Vec<Source>,
    /// Goal.
    pub goal: GoalDefinition,
    /// Parts of the way.
    pub milestones: Vec<MilestoneDefinition>,
    /// Conditions that must never hold.
    pub minefields: Vec<MinefieldDefinition>,
    /// Events of this task alone.
    pub world: Vec<EventDefinition>,
    /// Solution; where it is left out, the shortest way that is found.
    pub solution: Option<Vec<StepDefinition>>,
}

/// A part of the way.
#[derive(Debug, Clone)]
pub struct MilestoneDefinition {
    /// Its name.
    pub name: Name,
    /// When it is reached, after a call.
    pub when: Source,
    /// Its share.
    pub weight: u32,
    /// Milestones that come before.
    pub after: Vec<Name>,
}

/// Condition that must never hold.
#[derive(Debug, Clone)]
pub struct MinefieldDefinition {
    /// Its name.
    pub name: Name,
    /// When it has happened, after a call.
    pub when: Source,
}

/// Share of a milestone that names none.
const WEIGHT: u32 = 1;

impl TaskDefinition {
    pub(super) fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let infeasible = maybe(fields.optional("infeasible"), At::bool);
        let twin_of = maybe(fields.optional("twin_of"), Name::read);
        let params = listed(fields.optional("params"), |at| {
            at.named(&RESERVED, |key, at| Some((Name::of_key(key, at), DrawDefinition::read(at)?)))
        });
        let setup = listed(fields.optional("setup"), effects);
        let plant = listed(fields.optional("plant"), effects);
        let require = listed(fields.optional("require"), |at| at.list(At::source));
        let text = fields.required("text").and_then(|at| at.list(At::source));
        let goal = fields.required("goal").and_then(|at| GoalDefinition::read(&at));
        let milestones = listed(fields.optional("milestones"), |at| at.list(MilestoneDefinition::read));
        let minefields = listed(fields.optional("minefields"), |at| at.list(MinefieldDefinition::read));
        let world = listed(fields.optional("world"), |at| at.list(EventDefinition::read));
        let solution = maybe(fields.optional("solution"), steps);
        fields.finish();
        Some(Self {
            infeasible: infeasible?.unwrap_or(false),
            twin_of: twin_of?,
            params: params?,
            setup: setup?,
            plant: plant?,
            require: require?,
            text: text?,
            goal: goal?,
            milestones: milestones?,
            minefields: minefields?,
            world: world?,
            solution: solution?,
        })
    }
}

impl MilestoneDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let name = fields.required("name").and_then(|at| variable(&at));
        let when = fields.required("when").and_then(|at| at.source());
        let weight = maybe(fields.optional("weight"), |at| at.int_in(1..=100));
        let after = listed(fields.optional("after"), |at| at.list(Name::read));
        fields.finish();
        let weight = weight?.map_or(Some(WEIGHT), |weight| u32::try_from(weight).ok());
        Some(Self { name: name?, when: when?, weight: weight?, after: after? })
    }
}

impl MinefieldDefinition {
    fn read(at: &At<'_>) -> Option<Self> {
        let mut fields = at.fields()?;
        let name = fields.required("name").and_then(|at| variable(&at));
        let when = fields.required("when").and_then(|at| at.source());
        fields.finish();
        Some(Self { name: name?, when: when? })
    }
}
