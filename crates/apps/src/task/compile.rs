//! From the definition of a task to its template.

use std::sync::Arc;

use super::sound;
use crate::amount;
use crate::app::goal::{Answer, Change, Field, Free, Goal, What};
use crate::app::task::{Draw, Param, Step, Watch};
use crate::app::{Action, Callable, Parameter, Role, Shows, Template, View};
use crate::calendar::parse_date;
use crate::compile::Compiler;
use crate::compile::kinds::{kind, known};
use crate::compile::names::Names;
use crate::definition::task::{
    AnswerDefinition, ChangeDefinition, ChangeWhat, Draw as Drawn, DrawDefinition, FieldDefinition, GoalDefinition,
    Status, StepDefinition, StepKind, TaskDefinition,
};
use crate::definition::{Bindings, Name};
use crate::expression::{Checked, Roots};
use crate::fault::Faults;
use crate::kinds::{TableId, Type};
use crate::syntax::source::Source;
use crate::value::Value;

/// What is compiled already and what tasks name.
pub(crate) struct Calls<'a> {
    pub(crate) actions: &'a [Action],
    pub(crate) views: &'a [View],
    pub(crate) by_name: &'a std::collections::BTreeMap<Arc<str>, Callable>,
}

/// Every template of a definition.
pub(crate) fn templates(compiler: &Compiler<'_>, calls: &Calls<'_>, faults: &mut Faults) -> Vec<Template> {
    compiler.definition.tasks.iter().filter_map(|(name, task)| template(compiler, calls, name, task, faults)).collect()
}

fn template(
    compiler: &Compiler<'_>,
    calls: &Calls<'_>,
    name: &Name,
    written: &TaskDefinition,
    faults: &mut Faults,
) -> Option<Template> {
    sound::check(compiler, name, written, faults);
    let mut names = Names::new(compiler.ground, &compiler.of_draws, Roots::default());
    names.lenient = true;
    let before = faults.len();
    let mut params = Vec::new();
    for (name, drawn) in &written.params {
        let param = param(compiler, name, drawn, &names, faults)?;
        names.push(&name.text, param.kind.clone());
        params.push(param);
    }
    let mut inner = names.clone();
    let setup = compiler.effects(&written.setup, &mut inner, 0, faults);
    let plant = compiler.effects(&written.plant, &mut names.clone(), 0, faults);
    let require = written
        .require
        .iter()
        .filter_map(|source| Some((Arc::clone(&source.text), names.condition(source, faults)?)))
        .collect();
    if written.text.is_empty() {
        faults.push(name.fault("a task has at least one wording in `text`"));
    }
    let text = written.text.iter().filter_map(|source| names.template(source, faults)).collect();
    let events: Vec<_> =
        written.world.iter().filter_map(|event| compiler.event(event, &names.locals, faults).map(Arc::new)).collect();
    let record: Vec<(Arc<str>, Type)> =
        params.iter().map(|param| (Arc::clone(&param.name), param.kind.clone())).collect();
    let record = Type::Record(record.into());
    let mut goals = Names::new(compiler.ground, &compiler.of_actions, Roots { old: false, init: true });
    goals.push(&"t".into(), record.clone());
    let goal = goal(compiler, &written.goal, &goals, faults);
    let watches = watches(compiler, written, &record, faults);
    let solution = written
        .solution
        .as_ref()
        .map(|steps| Solution { calls }.steps(steps, &mut solution_names(compiler, &record), faults));
    if faults.len() > before {
        return None;
    }
    Some(Template {
        name: Arc::clone(&name.text),
        infeasible: written.infeasible
            || written.goal.answer.as_ref().is_some_and(|answer| answer.status != Status::Ok),
        twin_of: written.twin_of.as_ref().map(|twin| Arc::clone(&twin.text)),
        params,
        setup,
        plant,
        require,
        text,
        goal: goal?,
        watches: watches.into(),
        events,
        solution,
    })
}

fn solution_names<'g>(compiler: &'g Compiler<'_>, record: &Type) -> Names<'g> {
    let mut names = Names::new(compiler.ground, &compiler.of_actions, Roots { old: false, init: true });
    names.push(&"t".into(), record.clone());
    names
}

fn param(
    compiler: &Compiler<'_>,
    name: &Name,
    written: &DrawDefinition,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Param> {
    let (draw, kind) = match &written.draw {
        Drawn::Choice { values, kind: None } => {
            let kind = choice_kind(compiler, values);
            (choice(values, &kind, faults)?, kind)
        }
        Drawn::Choice { values, kind: Some(definition) } => {
            let kind = kind(definition, &known(compiler.ground), faults)?;
            (choice(values, &kind, faults)?, kind)
        }
        Drawn::Int { low, high, step } => (Draw::Range(*low, *high, *step), Type::Int),
        Drawn::Money { low, high, step, currency } => {
            let digits = amount::minor_digits(currency);
            let read = |text: &str| amount::parse(text, digits).ok();
            let step = step.as_ref().map_or(Some(1), |step| read(step));
            match (read(low), read(high), step) {
                (Some(low), Some(high), Some(step)) if low <= high && step > 0 && is_currency(currency) => {
                    (Draw::Range(low, high, step), Type::Money(Arc::clone(currency)))
                }
                _ => {
                    faults.push(name.fault("expected amounts such as `money: 5.00..90.00`, the lower one first, and a `currency` such as EUR"));
                    return None;
                }
            }
        }
        Drawn::Date(from, to) => {
            let from = names.check(from, Some(&Type::Date), faults)?;
            (Draw::Days(from, names.check(to, Some(&Type::Date), faults)?), Type::Date)
        }
        Drawn::Pick(list) => {
            let (list, element) = names.list(list, faults)?;
            (Draw::Pick(list), element)
        }
        Drawn::First { of, by, descending, gap } => {
            let (of, element) = names.list(of, faults)?;
            let mut inner = names.clone();
            inner.push(&"x".into(), element.clone());
            let by_source = by;
            let by = inner.check(by, None, faults)?;
            let number = matches!(
                by.kind(),
                Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Date | Type::Instant | Type::Duration
            );
            if !number {
                faults.push(by_source.fault(0, "only numbers, amounts and times are compared here"));
                return None;
            }
            let gap = match gap {
                None => None,
                Some(gap) => Some(gap_of(gap, by.kind(), names, faults)?),
            };
            (Draw::First { of, by, descending: *descending, gap }, element)
        }
        Drawn::Let(value) | Drawn::Word(value) => {
            let value = names.check(value, None, faults)?;
            let kind = value.kind().clone();
            (Draw::Let(value), kind)
        }
    };
    let not = match &written.not {
        None => None,
        Some(source) => Some(names.check(source, Some(&kind), faults)?),
    };
    let refer = match &kind {
        Type::Row(table) => {
            written.refer.iter().filter_map(|name| compiler.ground.column(*table, name, faults)).collect()
        }
        _ => {
            if let Some(first) = written.refer.first() {
                faults.push(first.fault("`refer` names columns of a row, and this is none"));
            }
            Vec::new()
        }
    };
    Some(Param { name: Arc::clone(&name.text), kind, draw, not, refer })
}

/// Whether text is a code of three capital letters.
fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase())
}

/// A gap in the unit of what is compared: minor units for amounts, so that `gap: 50` means 0.50.
fn gap_of(source: &Source, kind: &Type, names: &Names<'_>, faults: &mut Faults) -> Option<Checked> {
    if let Ok(gap) = names.check_behind(source, 0, Some(&Type::Int)) {
        return Some(gap);
    }
    let kind = match kind {
        Type::Date => &Type::Int,
        Type::Instant => &Type::Duration,
        other => other,
    };
    names.check(source, Some(kind), faults)
}

/// The type of choices that do not say: whole numbers, truth values, words of an enum that has them all, or text.
fn choice_kind(compiler: &Compiler<'_>, values: &[Source]) -> Type {
    let all = |fits: &dyn Fn(&str) -> bool| values.iter().all(|value| fits(&value.text));
    if all(&|text| text.parse::<i64>().is_ok()) {
        return Type::Int;
    }
    if all(&|text| matches!(text, "true" | "false")) {
        return Type::Bool;
    }
    let columns = compiler.ground.schema.tables.iter().flat_map(|table| &table.columns);
    let has_all = |kind: &Type| match kind.present() {
        Type::Enum(words) => all(&|text| words.iter().any(|word| **word == *text)),
        _ => false,
    };
    let words = columns.map(|column| column.kind.present()).find(|kind| has_all(kind));
    words.cloned().unwrap_or(Type::Text)
}

fn choice(values: &[Source], kind: &Type, faults: &mut Faults) -> Option<Draw> {
    let read = |source: &Source| {
        let text = &*source.text;
        match kind.present() {
            Type::Bool => text.parse().ok().map(Value::Bool),
            Type::Int => text.parse().ok().map(Value::Int),
            Type::Text => Some(Value::text(text)),
            Type::Enum(words) => words.iter().find(|word| ***word == *text).map(|word| Value::Text(Arc::clone(word))),
            Type::Date => parse_date(text).map(Value::Int),
            Type::Money(currency) => amount::parse(text, amount::minor_digits(currency)).ok().map(Value::Int),
            Type::Decimal(scale) => amount::parse(text, *scale).ok().map(Value::Int),
            Type::Duration => crate::calendar::parse_duration(text).map(Value::Int),
            _ => None,
        }
    };
    let mut chosen = Vec::new();
    for source in values {
        match read(source) {
            Some(value) => chosen.push(value),
            None => faults.push(source.fault(0, format!("`{}` is no {kind}", source.text))),
        }
    }
    (chosen.len() == values.len()).then_some(Draw::Choice(chosen))
}

fn goal(compiler: &Compiler<'_>, written: &GoalDefinition, names: &Names<'_>, faults: &mut Faults) -> Option<Goal> {
    let changes: Vec<Change> =
        written.changes.iter().filter_map(|change| one_change(compiler, change, names, faults)).collect();
    let also: Vec<(Arc<str>, Checked)> = written
        .also
        .iter()
        .filter_map(|source| Some((Arc::clone(&source.text), names.condition(source, faults)?)))
        .collect();
    let free = written.free.iter().filter_map(|source| free(compiler, source, faults)).collect();
    let answer = match &written.answer {
        None => None,
        Some(written) => Some(answer(compiler, written, names, faults)?),
    };
    if changes.is_empty() && also.is_empty() && answer.is_none() {
        faults.push(written.name.fault("this goal asks for nothing: list changes, an answer, or what must also hold"));
    }
    Some(Goal { changes, free, strict_history: written.strict_history, also, answer })
}

fn one_change(
    compiler: &Compiler<'_>,
    written: &ChangeDefinition,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Change> {
    let mut inner = names.clone();
    let each = match &written.each {
        None => None,
        Some((variable, list)) => {
            let (list, element) = names.list(list, faults)?;
            inner.introduce(variable, element, faults);
            Some(list)
        }
    };
    let (what, table, name) = match &written.what {
        ChangeWhat::Created { table: name, count } => {
            let table = compiler.ground.table(name, faults)?;
            let count = match count {
                None => None,
                Some(source) => Some(inner.check(source, Some(&Type::Int), faults)?),
            };
            (What::Created(table, count), table, format!("created {}", name.text))
        }
        ChangeWhat::Updated(source) => {
            let (row, table) = inner.row(source, faults)?;
            (What::Updated(row), table, format!("updated {}", source.text))
        }
        ChangeWhat::Deleted(source) => {
            let (row, table) = inner.row(source, faults)?;
            (What::Deleted(row), table, format!("deleted {}", source.text))
        }
    };
    let fields = written
        .fields
        .iter()
        .filter_map(|(name, field)| {
            let column = compiler.ground.column(table, name, faults)?;
            let kind = &compiler.ground.schema.table(table).describe(column).kind;
            Some((column, one_field(field, kind, &inner, faults)?))
        })
        .collect();
    if matches!(what, What::Updated(_)) && written.fields.is_empty() {
        faults.push(written.name.fault("list the columns that change in `fields`"));
    }
    Some(Change { name: name.into(), each, what, fields })
}

fn one_field(written: &FieldDefinition, kind: &Type, names: &Names<'_>, faults: &mut Faults) -> Option<Field> {
    Some(match written {
        FieldDefinition::Any => Field::Any,
        FieldDefinition::Equal(source) => Field::Equal(names.assigned(source, kind, faults)?),
        FieldDefinition::Contains(source) => {
            if *kind.present() != Type::Text {
                faults.push(source.fault(0, "only text contains text"));
            }
            Field::Contains(names.check(source, Some(&Type::Text), faults)?)
        }
        FieldDefinition::Check(source) => {
            let mut inner = names.clone();
            inner.push(&"v".into(), kind.clone());
            Field::Check(inner.condition(source, faults)?)
        }
    })
}

/// `table`, `table.column` or `created table`.
fn free(compiler: &Compiler<'_>, source: &Source, faults: &mut Faults) -> Option<Free> {
    let name =
        |text: &str| Name { text: text.into(), position: source.position.clone(), path: Arc::clone(&source.path) };
    if let Some(table) = source.text.strip_prefix("created ") {
        return compiler.ground.table(&name(table.trim()), faults).map(Free::Created);
    }
    match source.text.split_once('.') {
        None => compiler.ground.table(&name(&source.text), faults).map(Free::Table),
        Some((table, column)) => {
            let table = compiler.ground.table(&name(table), faults)?;
            compiler.ground.column(table, &name(column), faults).map(|column| Free::Column(table, column))
        }
    }
}

fn answer(
    compiler: &Compiler<'_>,
    written: &AnswerDefinition,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Answer> {
    if let Some(code) = &written.code
        && compiler.error(&code.text).is_none()
    {
        faults.push(code.unknown("error", compiler.errors.iter().map(|error| &*error.code)));
    }
    let slots: Vec<(Arc<str>, Checked)> = written
        .slots
        .iter()
        .filter_map(|(name, source)| Some((Arc::clone(&name.text), names.check(source, None, faults)?)))
        .collect();
    let code = written.code.as_ref().map(|code| Arc::clone(&code.text));
    (slots.len() == written.slots.len()).then_some(Answer { status: written.status, code, slots })
}

fn watches(compiler: &Compiler<'_>, written: &TaskDefinition, record: &Type, faults: &mut Faults) -> Vec<Watch> {
    let mut names = Names::new(compiler.ground, &compiler.of_goals, Roots { old: false, init: true });
    names.push(&"t".into(), record.clone());
    names.push(&"call".into(), call_kind(compiler));
    let mut watches: Vec<Watch> = Vec::new();
    for milestone in &written.milestones {
        let mut after = Vec::new();
        for name in &milestone.after {
            match watches.iter().position(|known| known.name == name.text) {
                Some(place) => after.push(place),
                None => faults.push(name.unknown("earlier milestone", watches.iter().map(|known| &*known.name))),
            }
        }
        let when = names.condition(&milestone.when, faults);
        let name = Arc::clone(&milestone.name.text);
        watches.extend(when.map(|when| Watch { name, when, after, weight: Some(milestone.weight) }));
    }
    for minefield in &written.minefields {
        let when = names.condition(&minefield.when, faults);
        let name = Arc::clone(&minefield.name.text);
        watches.extend(when.map(|when| Watch { name, when, after: Vec::new(), weight: None }));
    }
    watches
}

/// The type of the record `call`: the name, whether it succeeded, and the error's code where it did not.
fn call_kind(compiler: &Compiler<'_>) -> Type {
    let codes = Type::Enum(compiler.errors.iter().map(|error| Arc::clone(&error.code)).collect());
    let name = crate::compile::called::names(compiler.definition);
    Type::Record([("name".into(), name), ("ok".into(), Type::Bool), ("code".into(), codes.or_null())].into())
}

struct Solution<'a> {
    calls: &'a Calls<'a>,
}

impl Solution<'_> {
    fn steps(&self, written: &[StepDefinition], names: &mut Names<'_>, faults: &mut Faults) -> Vec<Step> {
        written.iter().filter_map(|step| self.step(step, names, faults)).collect()
    }

    fn step(&self, written: &StepDefinition, names: &mut Names<'_>, faults: &mut Faults) -> Option<Step> {
        Some(match &written.step {
            StepKind::Wait(time) => {
                let quoted = crate::calendar::parse_duration(&time.text);
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
                let Some(callable) = self.calls.by_name.get(&call.text) else {
                    faults.push(call.unknown("call", self.calls.by_name.keys().map(|name| &**name)));
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
                let nothing = Names::new(names.ground, &[], Roots::default());
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
            Callable::Action(place) => &self.calls.actions[place].who,
            Callable::View(place) => &self.calls.views[place].who,
        }
    }

    /// Parameters of a call, and the type of its answer.
    fn described(&self, callable: Callable, names: &Names<'_>) -> (Vec<Parameter>, Type) {
        match callable {
            Callable::Action(place) => {
                let action = &self.calls.actions[place];
                let returns: Vec<(Arc<str>, Type)> =
                    action.returns.iter().map(|(name, checked)| (Arc::clone(name), checked.kind().clone())).collect();
                (action.parameters.clone(), Type::Record(returns.into()))
            }
            Callable::View(place) => {
                let view = &self.calls.views[place];
                (view.all_parameters(&names.ground.schema), view_kind(view))
            }
        }
    }
}

/// Whether values of one type are written in JSON as those of the other may be: ids and words are text.
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
        Shows::One(_) => row(view.table),
        Shows::Many(_) => {
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
