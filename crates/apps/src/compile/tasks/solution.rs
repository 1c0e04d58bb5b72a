//! Solutions of tasks: the steps, with every call that they make looked up.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::app::task::Step;
use crate::app::{Action, Callable, Parameter, Role, RowSelection, View};
use crate::calendar::parse_duration;
use crate::compile::names::Names;
use crate::definition::Bindings;
use crate::definition::solution::{StepDefinition, StepKind};
use crate::expression::{Checked, Roots};
use crate::fault::Faults;
use crate::kinds::{TableId, Type};

/// Compiled actions and views, and the names that tasks use.
pub(crate) struct Calls<'a> {
    pub(crate) actions: &'a [Action],
    pub(crate) views: &'a [View],
    pub(crate) by_name: &'a BTreeMap<Arc<str>, Callable>,
}

impl Calls<'_> {
    /// The steps of a solution, in a scope that holds the record `t`.
    pub(super) fn steps(&self, written: &[StepDefinition], names: &mut Names<'_>, faults: &mut Faults) -> Vec<Step> {
        written.iter().filter_map(|step| self.step(step, names, faults)).collect()
    }

    fn step(&self, written: &StepDefinition, names: &mut Names<'_>, faults: &mut Faults) -> Option<Step> {
        Some(match &written.step {
            StepKind::Wait(time) => {
                let quoted = parse_duration(&time.text);
                match quoted {
                    // A bare length of time, as `2h`.
                    Some(seconds) => Step::Wait(names.check_text(&format!("seconds({seconds})"), None).ok()?),
                    None => Step::Wait(names.check(time, Some(&Type::Duration), faults)?),
                }
            }
            StepKind::Submit { status, code, answers } => {
                let code = match code {
                    None => None,
                    Some(source) => Some(names.check(source, Some(&Type::Text), faults)?),
                };
                Step::Submit { status: *status, code, answers: plain(answers, names, faults) }
            }
            StepKind::Each { variable, of, body } => {
                let (of, element) = names.list(of, faults)?;
                let mut inner = names.clone();
                inner.introduce(variable, element, faults);
                Step::Each(of, self.steps(body, &mut inner, faults))
            }
            StepKind::If { condition, then, otherwise } => {
                let condition = names.condition(condition, faults)?;
                let mut proven = names.clone();
                proven.proven.push(condition.clone());
                let then = self.steps(then, &mut proven, faults);
                Step::If(condition, then, self.steps(otherwise, &mut names.clone(), faults))
            }
            StepKind::Do { call, args, variable } => {
                let Some(callable) = self.by_name.get(&call.text) else {
                    faults.push(call.unknown("call", self.by_name.keys().map(|name| &**name)));
                    return None;
                };
                let (parameters, answered) = self.described(*callable, names);
                for parameter in parameters.iter().filter(|parameter| parameter.required()) {
                    if !args.iter().any(|(name, _)| name.text == parameter.name) {
                        faults.push(call.fault(format!("the argument `{}` is missing", parameter.name)));
                    }
                }
                if !self.who(*callable).contains(&Role::AGENT) {
                    faults.push(call.fault(format!("the agent may not call `{}`", call.text)));
                }
                let (mut values, mut constant) = (Vec::new(), Vec::new());
                let nothing = Names::new(names.shared, &[], Roots::default());
                for (name, source) in args {
                    if nothing.check_behind(source, 0, None).is_ok() {
                        constant.push(Arc::clone(&name.text));
                    }
                    let Some(parameter) = parameters.iter().find(|known| known.name == name.text) else {
                        faults.push(name.unknown("parameter", parameters.iter().map(|known| &*known.name)));
                        continue;
                    };
                    // In JSON the id of a row and a word of an enum are text.
                    let checked = names.check_behind(source, 0, Some(&parameter.kind)).or_else(|wrong| {
                        let plain = names.check_behind(source, 0, None).ok();
                        plain.filter(|plain| written_alike(plain.kind(), &parameter.kind)).ok_or(wrong)
                    });
                    match checked {
                        Ok(checked) => values.push((Arc::clone(&name.text), checked)),
                        Err(wrong) => faults.extend(wrong),
                    }
                }
                if let Some(variable) = variable {
                    names.introduce(variable, answered, faults);
                }
                Step::Do { call: Arc::clone(&call.text), args: values, constant, bind: variable.is_some() }
            }
        })
    }

    fn who(&self, callable: Callable) -> &[Role] {
        match callable {
            Callable::Action(place) => &self.actions[place].who,
            Callable::View(place) => &self.views[place].who,
        }
    }

    /// Parameters of a call, and the type of its answer.
    fn described(&self, callable: Callable, names: &Names<'_>) -> (Vec<Parameter>, Type) {
        match callable {
            Callable::Action(place) => {
                let action = &self.actions[place];
                let returns: Vec<(Arc<str>, Type)> =
                    action.returns.iter().map(|(name, checked)| (Arc::clone(name), checked.kind().clone())).collect();
                (action.parameters.clone(), Type::Record(returns.into()))
            }
            Callable::View(place) => {
                let view = &self.views[place];
                (view.all_parameters(&names.shared.schema), view_kind(view))
            }
        }
    }
}

/// True if values of one type are written in JSON as those of the other may be: ids and words are text.
fn written_alike(given: &Type, wanted: &Type) -> bool {
    match (given.present(), wanted.present()) {
        (Type::Text | Type::Enum(_) | Type::Row(_), Type::Row(_) | Type::Enum(_) | Type::Text) => {
            given == wanted || *given.present() == Type::Text || *wanted.present() == Type::Text
        }
        (Type::List(given), Type::List(wanted)) => written_alike(given, wanted),
        (Type::Record(_), Type::Record(_)) => true,
        (given, wanted) => given == wanted,
    }
}

fn view_kind(view: &View) -> Type {
    let row = |table: TableId| Type::Row(table);
    match view.rows {
        RowSelection::One(_) => row(view.table),
        RowSelection::Many(_) => {
            Type::Record([("items".into(), Type::List(Box::new(row(view.table)))), ("total".into(), Type::Int)].into())
        }
    }
}

fn plain(bindings: &Bindings, names: &Names<'_>, faults: &mut Faults) -> Vec<(Arc<str>, Checked)> {
    bindings
        .iter()
        .filter_map(|(name, source)| Some((Arc::clone(&name.text), names.check(source, None, faults)?)))
        .collect()
}
