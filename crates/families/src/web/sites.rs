//! `web/sites`: sites of many pages, and questions. An answer counts where the pages that prove it were read.

use std::collections::BTreeSet;

use palestra_protocol::verdict::Check;
use palestra_sites::{Answer, Task, Template};
use palestra_widgets::{Draw, Level};
use serde_json::{Map, Value, json};

use super::kind::{Content, Facts};
use super::site_pages::SitePages;
use palestra_environment::ConfigError;
use palestra_environment::verifier::VerifierError;

/// Every template.
pub(super) struct Sites(Vec<Template>);

impl Sites {
    /// Templates in turn by level, so that each level has as many draws of each of its own.
    pub(super) fn new() -> Self {
        let of = |level| palestra_sites::all().into_iter().filter(move |template| template.level == level);
        let mut levels = Level::ALL.map(of);
        let turns = std::iter::from_fn(|| {
            let turn: Vec<Template> = levels.iter_mut().filter_map(Iterator::next).collect();
            (!turn.is_empty()).then_some(turn)
        });
        Self(turns.flatten().collect())
    }
}

impl Content for Sites {
    type Drawn = Task;
    type Pages = SitePages;

    const FACTS: Facts = Facts {
        environment: "web/sites",
        about: "Questions about web sites of many pages, answered from what was read there: an encyclopaedia, a forum, a map, \
                the documentation of a library, a newspaper.",
        // The longest solution of 12,000 draws takes 32.
        steps_max: 100,
        system: "You use a web site in a browser to answer a question. Tell the answer by send_msg_to_user: the value alone, \
                 without a sentence around it. That ends the task, and only the first answer counts. If the site does not \
                 state what the question asks for, use report_infeasible instead. The answer has to be proven: it counts \
                 only if you opened the pages that state what it rests on.",
        verifier: "proven-answer",
        heavy: true,
    };

    fn templates(&self) -> Vec<&'static str> {
        self.0.iter().map(|template| template.name).collect()
    }

    fn draw(&self, template: &str, draw: &mut Draw) -> Option<Task> {
        self.0.iter().find(|known| known.name == template)?.draw(draw)
    }

    fn instruction(drawn: &Task) -> &str {
        &drawn.question.text
    }

    fn content(template: &str, drawn: &Task) -> Value {
        json!([template, drawn.question.text, drawn.question.answer.words()])
    }

    fn pages(drawn: Task, config: &Map<String, Value>) -> Result<SitePages, ConfigError> {
        ConfigError::refuse_all(config)?;
        let site = drawn.site();
        Ok(SitePages::new(drawn.question.text, site))
    }

    fn solution(drawn: &Task) -> Option<Vec<String>> {
        drawn.site().solution(&drawn.question)
    }

    fn judge(drawn: &Task, state: &Value) -> Result<Vec<Check>, VerifierError> {
        let read = state["read"].as_object().ok_or_else(|| {
            VerifierError(
                "the state has no record of what was read: judge the state of a session of web/sites".to_owned(),
            )
        })?;
        let addresses: BTreeSet<&str> = read.keys().map(String::as_str).collect();
        let (gave_up, said) = (state["gave_up"] == true, state["answer"].as_str());
        let right = match &drawn.question.answer {
            Answer::NotStated => gave_up,
            answer => !gave_up && said.is_some_and(|said| answer.accepts(said)),
        };
        let told = match said {
            Some(said) => format!("the answer was {said:?}"),
            None if gave_up => "it was said that the site does not state it".to_owned(),
            None => "nothing was answered".to_owned(),
        };
        let site = drawn.site();
        let lacking = site.lacking(&drawn.question, &addresses);
        let entries = site.proving(&drawn.question, &addresses).into_iter();
        let entries: Vec<String> = entries.map(|at| format!("entry {}: {at}", read[at])).collect();
        let proof = match (lacking.len(), entries.is_empty()) {
            (0, _) => entries.join("; "),
            (more, true) => format!("facts that were not read: {more}, which are all"),
            (more, false) => format!("facts that were not read: {more}; others were, in {}", entries.join("; ")),
        };
        let proven = lacking.is_empty();
        // The answer and its proof only count together.
        Ok(vec![
            check("proven answer", 1.0, right && proven, format!("right: {right}, proven: {proven}")),
            check("part answer", 0.0, right, told),
            check("part proof", 0.0, proven, proof),
        ])
    }
}

fn check(name: &str, weight: f64, passed: bool, evidence: String) -> Check {
    Check { name: name.to_owned(), weight, score: if passed { 1.0 } else { 0.0 }, passed, evidence }
}
