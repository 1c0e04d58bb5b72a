//! Programs in any language, judged by what they do: built once in a fresh sandbox, run on every test there, and compared here.

mod asserts;
mod checker;
pub mod compare;
mod gate;
mod judge;
pub mod language;
pub mod outcome;
pub mod program;
pub mod row;
mod runner;
mod submission;
mod upload;
mod workspace;

use std::sync::Arc;

use async_trait::async_trait;
use palestra_sandbox::{SandboxError, SandboxSpec};
use serde_json::{Map, Value, json};

use self::asserts::Plans;
use self::judge::Judge;
use self::language::Language;
use self::program::Program;
pub use self::row::Problem;
pub use self::upload::problems;
use self::workspace::CodeWorkspace;
pub use self::workspace::RUNS_MAX;
use crate::work::{Brief, Call, Fault, JudgeError, Judgement, Opening, Upload, Work, Workbench, Workspace};
use palestra_state::secrets::Secrets;

/// The image that holds every language.
pub const IMAGE: &str = "languages";

/// Consequence of a problem without a solution.
const UNPROVEN: &str =
    "nothing proves that it can be solved, and its passed episodes are not trainable (--trust-unproven lets them be)";

/// The family of problems that are solved by programs.
#[derive(Debug, Clone)]
pub struct Code {
    image: String,
    plans: Arc<Plans>,
}

impl Default for Code {
    fn default() -> Self {
        Self::on(IMAGE)
    }
}

impl Code {
    /// The family on another image, which needs to hold the languages that are used.
    #[must_use]
    pub fn on(image: &str) -> Self {
        Self { image: image.to_owned(), plans: Arc::default() }
    }

    fn want(&self, profile: &str, backend: Option<&str>) -> SandboxSpec {
        SandboxSpec::new(backend.map(str::to_owned), &self.image, profile)
    }
}

#[async_trait]
impl Work for Code {
    fn tools(&self) -> Vec<Value> {
        let source = json!({"type": "string", "description": "The whole program."});
        let language =
            json!({"type": "string", "description": "Its language; the first of the task's where left out."});
        let tool = |name: &str, description: &str, properties: Value| {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": {
                "type": "object", "properties": properties, "required": ["source"], "additionalProperties": false}}})
        };
        vec![
            tool(
                "run",
                "Builds and runs a program without submitting it: on the visible examples, or on an input of your own.",
                json!({"source": source, "language": language, "input": {"type": "string", "description": "Standard input."}}),
            ),
            tool(
                "submit",
                "Submits a program, which ends the task: it is judged on hidden tests.",
                json!({"source": source, "language": language}),
            ),
        ]
    }

    fn rows(&self, upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>> {
        upload::read(upload)
    }

    fn notes(&self, row: &Value) -> Vec<String> {
        let Ok(problem) = problem(row) else { return Vec::new() };
        let mut notes = Vec::new();
        if problem.is_unproven() && !problem.trusted {
            notes.push(format!("{}: there is no `solution`: {UNPROVEN}", problem.id));
        }
        notes
    }

    fn trust(&self, row: &mut Value) -> bool {
        if let Some(row) = row.as_object_mut().filter(|row| !row.contains_key("solution")) {
            row.insert("trusted".to_owned(), Value::Bool(true));
        }
        true
    }

    async fn admit(&self, row: &Value, workbench: &Workbench) -> Result<Vec<String>, String> {
        let problem = problem(row)?;
        let (want, trusted) = (self.want("code", None), self.want("judge", None));
        let (sandboxes, plans) = (&workbench.sandboxes, &self.plans);
        let judge = Judge { problem: &problem, sandboxes, want: &want, trusted: &trusted, plans };
        judge.admit().await
    }

    fn describe(&self, row: &Value) -> Result<Brief, String> {
        Ok(brief(&problem(row)?))
    }

    async fn open(
        &self,
        row: &Value,
        opening: &Opening,
        workbench: &Workbench,
    ) -> Result<Box<dyn Workspace>, SandboxError> {
        let problem = problem(row).map_err(SandboxError::Start)?;
        let backend = opening.config.get("backend").and_then(Value::as_str);
        let instruction = brief(&problem).instruction;
        let workspace =
            CodeWorkspace::new(problem, instruction, workbench.sandboxes.clone(), self.want("code", backend));
        let workspace = workspace.going_on(opening.from.as_ref()).map_err(SandboxError::Start)?;
        Ok(Box::new(workspace))
    }

    async fn judge(
        &self,
        row: &Value,
        _secrets: Secrets,
        evidence: &Value,
        workbench: &Workbench,
    ) -> Result<Judgement, JudgeError> {
        let problem = problem(row).map_err(JudgeError::Verifier)?;
        let program = submission::of_evidence(evidence).map_err(JudgeError::Verifier)?;
        let (want, trusted) = (self.want("code", None), self.want("judge", None));
        let (sandboxes, plans) = (&workbench.sandboxes, &self.plans);
        let judge = Judge { problem: &problem, sandboxes, want: &want, trusted: &trusted, plans };
        let mut judged = judge.judge(program.as_ref()).await?;
        if problem.is_unproven() && !problem.trusted && judged.score() > 0.0 {
            judged.trainable = false;
            judged.checks[0]
                .evidence
                .push_str("; the problem has no solution, so nothing proves that it can be solved");
        }
        Ok(judged)
    }

    fn verifier(&self) -> &'static str {
        "code"
    }

    fn judged_by(&self, row: &Value) -> Value {
        const JUDGED_BY: [&str; 14] = [
            "language",
            "languages",
            "tests",
            "comparison",
            "asserts",
            "setup",
            "entry",
            "time_ms",
            "memory_bytes",
            "output_bytes",
            "partial",
            "files",
            "solution",
            "trusted",
        ];
        let fields = JUDGED_BY.iter().filter_map(|name| Some(((*name).to_owned(), row.get(*name)?.clone())));
        Value::Object(fields.collect())
    }

    fn oracle(&self, row: &Value, _seed: u64) -> Option<Vec<Call>> {
        let solution = problem(row).ok()?.solutions().into_iter().next()?;
        Some(vec![submit(&solution)])
    }

    fn control(&self, row: &Value) -> Vec<Call> {
        // Where nothing was submitted nothing is run. Without a solution, a program that does nothing stands for one.
        self.oracle(row, 0).unwrap_or_else(|| {
            let language = problem(row).ok().and_then(|problem| problem.languages().first().map(ToString::to_string));
            vec![submit(&Program { language: language.unwrap_or_default(), source: "\n".to_owned() })]
        })
    }

    fn random_call(&self, choice: u64) -> Call {
        const PROGRAMS: [&str; 4] = ["print(0)", "print(1)", "print(input())", "print('')"];
        let index = usize::try_from(choice % PROGRAMS.len() as u64).unwrap_or_default();
        let source = PROGRAMS[index].to_owned();
        let arguments = [("source".to_owned(), json!(source))].into_iter().collect::<Map<_, _>>();
        Call { tool: "submit".to_owned(), arguments }
    }
}

fn submit(program: &Program) -> Call {
    let arguments = [("source", &program.source), ("language", &program.language)];
    let arguments = arguments.into_iter().map(|(name, text)| (name.to_owned(), json!(text))).collect();
    Call { tool: "submit".to_owned(), arguments }
}

fn problem(row: &Value) -> Result<Problem, String> {
    serde_json::from_value(row.clone())
        .map_err(|error| format!("the row is none of a problem, publish the environment anew: {error}"))
}

fn brief(problem: &Problem) -> Brief {
    let languages: Vec<&Language> =
        problem.languages().into_iter().filter_map(|name| Language::named(name).ok()).collect();
    let titles: Vec<String> =
        languages.iter().map(|language| format!("{} (`{}`)", language.title, language.name)).collect();
    let mut system = format!("Solve the task with a program in {}", titles.join(", "));
    system.push_str(if languages.len() == 1 { ".\n" } else { ": any of them.\n" });
    system.push_str(&match (&problem.entry, problem.asserts.is_empty()) {
        (Some(entry), false) => format!("It defines `{entry}`, which hidden tests call.\n"),
        (None, false) => "It defines what is asked for, which hidden tests call.\n".to_owned(),
        (_, true) => {
            "It reads standard input and writes standard output, and returns 0. It is judged on hidden tests.\n"
                .to_owned()
        }
    });
    system.push_str(&format!(
        "Each test allows {} ms of CPU, {} MiB of memory and {} KiB of output; there is no network.\n",
        problem.time_ms,
        problem.memory_bytes >> 20,
        problem.output_bytes.div_ceil(1_024)
    ));
    for language in &languages {
        if let Some(note) = &language.note {
            system.push_str(&format!("{}: {note}\n", language.title));
        }
    }
    system.push_str(
        "Answer with the tool `submit`, or with text whose last fenced code block is the program. The tool `run` tries one first.",
    );
    let metadata = [
        ("id", json!(problem.id)),
        ("languages", json!(problem.languages())),
        ("time_ms", json!(problem.time_ms)),
        ("memory_bytes", json!(problem.memory_bytes)),
        ("tests", json!(problem.tests.len() + problem.asserts.len())),
        ("partial", json!(problem.partial)),
    ];
    Brief {
        system,
        instruction: instruction(problem),
        difficulty: problem.difficulty,
        score_range: None,
        template: problem.template.clone().unwrap_or_else(|| "code".to_owned()),
        metadata: metadata.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

/// The prompt with all that is visible.
fn instruction(problem: &Problem) -> String {
    let mut text = problem.prompt.trim_end().to_owned();
    for (path, content) in &problem.files {
        let size = content.len();
        text.push_str(&format!("\n\nThe file `{path}` ({size} bytes) lies where the program starts."));
    }
    for (number, example) in (1..).zip(problem.visible()) {
        let args =
            if example.args.is_empty() { String::new() } else { format!("\nArguments: {}", example.args.join(" ")) };
        text.push_str(&format!(
            "\n\nExample {number}{args}\nInput:\n```\n{}\n```\nOutput:\n```\n{}\n```",
            example.input.trim_end_matches('\n'),
            example.output.trim_end_matches('\n')
        ));
    }
    let asserts: Vec<&str> =
        problem.asserts.iter().filter(|assert| !assert.hidden).map(|assert| assert.assert.as_str()).collect();
    if !asserts.is_empty() {
        text.push_str(&format!("\n\nThese hold:\n```python\n{}\n```", asserts.join("\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"id":"sum","prompt":"Add two numbers.","languages":["python","java"],"solution":"SOLVED",
        "tests":[{"input":"1 2\n","output":"3\n","hidden":false},{"input":"SECRET","output":"FOUND"}]}"#;

    fn row() -> Value {
        serde_json::from_str(ROW).expect("a row")
    }

    #[test]
    fn task_descriptions_hold_neither_hidden_tests_nor_solutions() {
        let brief = Code::default().describe(&row()).expect("a brief");
        assert!(brief.instruction.contains("1 2") && brief.system.contains("Main"));
        for secret in ["SECRET", "FOUND", "SOLVED"] {
            let told = format!("{brief:?}");
            assert!(!told.contains(secret), "{told}");
        }
    }

    #[test]
    fn the_oracle_submits_the_reference_solution() {
        let calls = Code::default().oracle(&row(), 0).expect("calls");
        assert_eq!(calls[0].tool, "submit");
        assert_eq!(calls[0].arguments["source"], "SOLVED");
        assert_eq!(calls[0].arguments["language"], "python");
    }

    #[test]
    fn the_judged_part_is_separate_from_the_prompt() {
        let judged = Code::default().judged_by(&row());
        assert!(judged.get("prompt").is_none());
        assert_eq!(judged["tests"][1]["output"], "FOUND");
    }
}
