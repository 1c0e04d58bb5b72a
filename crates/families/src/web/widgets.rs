//! `web/widgets`: small pages with one kind of control each. A page sends what was entered to this process, which judges it.

use std::sync::Arc;

use palestra_protocol::verdict::Check;
use palestra_widgets::{Draw, Task, Widget};
use serde_json::{Map, Value, json};

use super::kind::{Content, Facts};
use super::pages::WidgetPages;
use palestra_environment::ConfigError;
use palestra_environment::verifier::VerifierError;

/// Every widget.
pub(super) struct Widgets(Vec<Widget>);

impl Widgets {
    pub(super) fn new() -> Self {
        Self(palestra_widgets::all())
    }
}

impl Content for Widgets {
    type Drawn = Task;
    type Pages = WidgetPages;

    const FACTS: Facts = Facts {
        environment: "web/widgets",
        about: "Small web pages with one kind of control each, from dates and sliders to drawing and uploads, in a real browser.",
        // The longest solution takes about fifty.
        steps_max: 100,
        system: "You use a web page in a browser. Do what the user asks for, and send it by the page's own button. \
                 The task ends when the page is sent, and only what is sent first counts.",
        verifier: "sent-state",
        heavy: false,
    };

    fn templates(&self) -> Vec<&'static str> {
        self.0.iter().map(|widget| widget.name).collect()
    }

    fn draw(&self, template: &str, draw: &mut Draw) -> Option<Task> {
        let widget = self.0.iter().find(|widget| widget.name == template)?;
        Some((widget.draw)(draw))
    }

    fn instruction(drawn: &Task) -> &str {
        &drawn.instruction
    }

    fn content(template: &str, drawn: &Task) -> Value {
        json!([template, drawn.instruction, drawn.wanted])
    }

    fn pages(drawn: Task, config: &Map<String, Value>) -> Result<WidgetPages, ConfigError> {
        ConfigError::refuse_all(config)?;
        Ok(WidgetPages::new(Arc::new(drawn)))
    }

    fn solution(drawn: &Task) -> Option<Vec<String>> {
        Some(drawn.solution.clone())
    }

    fn judge(drawn: &Task, state: &Value) -> Result<Vec<Check>, VerifierError> {
        let parts = drawn.wanted.judge(state["sent"].as_bool().unwrap_or_default().then_some(&state["state"]));
        let right = parts.iter().all(|part| part.passed);
        // A page is right as a whole or not; its parts tell where it is wrong.
        let whole = Check {
            name: "right".to_owned(),
            weight: 1.0,
            score: if right { 1.0 } else { 0.0 },
            passed: right,
            evidence: if state["sent"] == true { "sent".to_owned() } else { "nothing was sent".to_owned() },
        };
        let parts = parts.into_iter().map(|part| Check {
            name: format!("part {}", part.name),
            weight: 0.0,
            score: if part.passed { 1.0 } else { 0.0 },
            passed: part.passed,
            evidence: part.found.to_string(),
        });
        Ok(std::iter::once(whole).chain(parts).collect())
    }
}
