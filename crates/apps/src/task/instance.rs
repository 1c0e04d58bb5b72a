//! A task: what was drawn of its template, and what it begins with.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::call::Call;
use crate::app::{App, Template};
use crate::data::Data;
use crate::json::Codec;
use crate::run::{Agenda, Beginning, Chance};
use crate::value::Value;

/// A task, drawn and accepted.
#[derive(Debug)]
pub struct Instance {
    /// The app.
    pub app: Arc<App>,
    /// The template; that of a fixed task is its own.
    pub template: usize,
    /// Parts that a fixed task has instead of a template.
    pub(crate) fixed: Option<Arc<Template>>,
    /// The values of its parameters, in order.
    pub values: Vec<Value>,
    /// The data at the beginning.
    pub data: Data,
    /// Agenda of its preparation.
    pub(super) agenda: Agenda,
    /// Index of its wording in the template.
    pub wording: usize,
    /// Text for the agent.
    pub text: String,
    /// The number of its draw among those of its seed, from 0.
    pub attempt: u32,
    /// Checks that hold at the beginning already, and so carry no weight.
    pub(super) held: Vec<bool>,
    /// The calls of the solution.
    pub(super) solution: Vec<Call>,
}

impl Instance {
    /// The template that it was drawn from.
    #[must_use]
    pub fn template(&self) -> &Template {
        self.fixed.as_deref().unwrap_or_else(|| &self.app.templates[self.template])
    }

    /// The record `t`.
    #[must_use]
    pub fn record(&self) -> Value {
        Value::Record(self.values.as_slice().into())
    }

    /// The parameters as JSON.
    #[must_use]
    pub fn parameters(&self) -> Map<String, Json> {
        parameters(&self.app, self.template(), &self.values, &self.data)
    }

    /// The calls that solve it; privileged.
    #[must_use]
    pub fn solution(&self) -> &[Call] {
        &self.solution
    }

    /// The same with what its proof has found out: which checks hold at the beginning, and the calls that solve it.
    pub(crate) fn proven(self, held: Vec<bool>, solution: Vec<Call>) -> Self {
        Self { held, solution, ..self }
    }

    /// The same values in other data, in which another text may be told.
    pub(crate) fn on(&self, data: Data, text: String) -> Self {
        Self { text, ..self.taken_by(self.template, self.values.clone(), data) }
    }

    /// The beginning, taken for a task of a template, whose text is not given.
    pub(crate) fn taken_by(&self, template: usize, values: Vec<Value>, data: Data) -> Self {
        Self {
            app: Arc::clone(&self.app),
            template,
            fixed: None,
            values,
            data,
            agenda: self.agenda.clone(),
            wording: self.wording,
            text: self.text.clone(),
            attempt: self.attempt,
            held: Vec::new(),
            solution: Vec::new(),
        }
    }

    /// Beginning of an episode of it.
    #[must_use]
    pub fn beginning(&self, seed: u64, data: Data) -> Arc<Beginning> {
        self.beginning_by(seed, Chance::Drawn, data)
    }

    /// The same with events of chance that take place or not.
    pub(crate) fn beginning_by(&self, seed: u64, chance: Chance, data: Data) -> Arc<Beginning> {
        let template = self.template();
        Arc::new(Beginning {
            app: Arc::clone(&self.app),
            data,
            agenda: self.agenda.clone(),
            events: template.events.clone(),
            locals: self.values.clone(),
            watches: Arc::clone(&template.watches),
            task: self.record(),
            seed,
            chance,
        })
    }
}

/// The values of parameters as JSON.
pub(crate) fn parameters(app: &App, template: &Template, values: &[Value], data: &Data) -> Map<String, Json> {
    let codec = Codec::new(&app.schema);
    template
        .params
        .iter()
        .zip(values)
        .map(|(param, value)| (param.name.to_string(), codec.to_json(value, &param.kind, data)))
        .collect()
}
