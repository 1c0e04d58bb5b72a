//! `solution` of a task: its steps.

use super::action::{each, variable};
use super::goal::Status;
use super::{Bindings, Name, bindings, listed, maybe};
use crate::syntax::read::At;
use crate::syntax::source::Source;

/// A step of a solution.
#[derive(Debug, Clone)]
pub struct StepDefinition {
    /// Its position.
    pub name: Name,
    /// The step.
    pub step: StepKind,
}

/// Kind of step.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Calls an action or a view.
    Do {
        /// The called action or view.
        call: Name,
        /// Its arguments.
        args: Bindings,
        /// Variable of its answer.
        variable: Option<Name>,
    },
    /// Lets time pass, in seconds.
    Wait(Source),
    /// Ends the task.
    Submit {
        /// Status.
        status: Status,
        /// Code of the error.
        code: Option<Source>,
        /// Values of the answer.
        answers: Bindings,
    },
    /// Does something for each element of a list.
    Each {
        /// Variable of the element.
        variable: Name,
        /// The list.
        of: Source,
        /// Body.
        body: Vec<StepDefinition>,
    },
    /// Does one thing or the other.
    If {
        /// The condition.
        condition: Source,
        /// Body if it holds.
        then: Vec<StepDefinition>,
        /// Body if it does not.
        otherwise: Vec<StepDefinition>,
    },
}

/// Reads the steps of a solution.
pub(super) fn steps(at: &At<'_>) -> Option<Vec<StepDefinition>> {
    at.list(|at| Some(StepDefinition { name: Name::at("".into(), at), step: step(at)? }))
}

const STEPS: [&str; 5] = ["wait", "submit", "each", "if", "do"];

fn step(at: &At<'_>) -> Option<StepKind> {
    let mut fields = at.fields()?;
    // `do` comes last: beside `each` it holds the steps.
    let Some((word, inner)) = STEPS.iter().find_map(|word| Some((*word, fields.optional(word)?))) else {
        return at.expected("one of do, wait, submit, each, if");
    };
    let kind = match word {
        "wait" => inner.source().map(StepKind::Wait),
        "submit" => submit(&inner),
        "each" => {
            let body = fields.required("do").and_then(|at| steps(&at));
            let (variable, of) = each(&inner)?;
            body.map(|body| StepKind::Each { variable, of, body })
        }
        "if" => {
            let then = fields.required("then").and_then(|at| steps(&at));
            let otherwise = listed(fields.optional("else"), steps);
            let condition = inner.source();
            Some(StepKind::If { condition: condition?, then: then?, otherwise: otherwise? })
        }
        _ => {
            let args = listed(fields.optional("args"), bindings);
            let name = maybe(fields.optional("as"), variable);
            let call = Name::read(&inner);
            Some(StepKind::Do { call: call?, args: args?, variable: name? })
        }
    };
    fields.finish();
    kind
}

fn submit(at: &At<'_>) -> Option<StepKind> {
    let mut fields = at.fields()?;
    let status = fields.required("status").and_then(|at| at.choice(&Status::WORDS));
    let code = maybe(fields.optional("code"), At::source);
    let answers = listed(fields.optional("answers"), bindings);
    fields.finish();
    Some(StepKind::Submit { status: status?, code: code?, answers: answers? })
}
