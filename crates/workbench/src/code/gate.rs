//! The gate of a problem before it is published: its solutions pass, its tests check something, and a program that does nothing does
//! not pass.

use super::checker::Checker;
use super::compare::{self, Comparison};
use super::judge::Judge;
use super::language::Language;
use super::program::Program;
use crate::work::{Check, Judgement};

impl Judge<'_> {
    /// Proves that the problem can be judged and cannot be had for nothing. Answers what its author should know.
    pub(super) async fn admit(&self) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        if !self.problem.asserts.is_empty() {
            notes.extend(self.plan().await?);
        }
        for solution in self.problem.solutions() {
            let judgement = self.judge(Some(&solution)).await.map_err(|error| error.to_string())?;
            if let Some(failed) = self.failed(&judgement) {
                return Err(format!(
                    "the solution in {} does not pass {failed}: correct one of them",
                    solution.language
                ));
            }
        }
        if self.problem.asserts.is_empty() {
            self.prove_tests().await?;
        } else {
            self.prove_asserts().await?;
        }
        Ok(notes)
    }

    /// The first test that was not passed, with what came of it.
    fn failed(&self, judgement: &Judgement) -> Option<String> {
        let check = judgement.checks.iter().find(|check| check.score < 1.0 && number(check).is_some())?;
        Some(format!("{}: {}", self.problem.described(number(check)?), check.evidence))
    }

    /// Splits the asserts, and refuses those that check nothing. Answers a note where some run beside the submission.
    async fn plan(&self) -> Result<Option<String>, String> {
        let mut comparer = self.comparer().await.map_err(|error| error.to_string())?;
        let plan = comparer.plan(self.plans).await;
        let faults = comparer.faults().await;
        comparer.close().await;
        let (plan, faults) = (plan.map_err(|error| error.to_string())?, faults.map_err(|error| error.to_string())?);
        let told = (1..).zip(faults).find_map(|(number, fault)| Some((number, fault?)));
        if let Some((number, fault)) = told {
            return Err(format!("{} {fault}", self.problem.described(number)));
        }
        let whole = plan.iter().filter(|calls| calls.is_none()).count();
        Ok((whole > 0).then(|| {
            format!(
                "{}: {whole} of {} asserts cannot be split and run beside the submission, so no trainer may learn from its episodes: write each as one comparison of a call (docs/code.md)",
                self.problem.id,
                plan.len()
            )
        }))
    }

    /// Refuses tests that accept no output at all, in whatever language.
    async fn prove_tests(&self) -> Result<(), String> {
        let problem = self.problem;
        let mut checker = match &problem.comparison {
            Comparison::Checker(program) => {
                let checker = Checker::open(self.sandboxes, self.trusted, program, problem).await;
                Some(checker.map_err(|error| error.to_string())?)
            }
            _ => None,
        };
        let mut accepted = 0;
        for test in &problem.tests {
            let difference = match &mut checker {
                // A checker that fails over no output accepts it no more than one that refuses it.
                Some(checker) => checker.difference(test, b"").await.unwrap_or_else(|error| Some(error.to_string())),
                None => compare::difference(&problem.comparison, test.output.as_bytes(), b""),
            };
            accepted += usize::from(difference.is_none());
        }
        if let Some(checker) = checker {
            checker.close().await;
        }
        if accepted == problem.tests.len() {
            return Err("a program that prints nothing passes every test: add a test with an output".to_owned());
        }
        Ok(())
    }

    /// Refuses asserts that hold for an empty program, and all of them together where they hold for one that returns nothing.
    async fn prove_asserts(&self) -> Result<(), String> {
        let empty = self.judged("\n").await?;
        let held = empty.checks.iter().filter(|check| check.score >= 1.0).find_map(number);
        if let Some(number) = held {
            let described = self.problem.described(number);
            return Err(format!("{described} holds for an empty program: let it compare what the submission returns"));
        }
        let Some(entry) = &self.problem.entry else { return Ok(()) };
        let idle = self.judged(&format!("def {entry}(*arguments, **named):\n    return None\n")).await?;
        if self.failed(&idle).is_none() {
            return Err(format!(
                "a `{entry}` that does nothing and returns None passes every assert: add one that it fails"
            ));
        }
        Ok(())
    }

    async fn judged(&self, source: &str) -> Result<Judgement, String> {
        let program = Program { language: "python".to_owned(), source: source.to_owned() };
        Language::named(&program.language)?;
        self.judge(Some(&program)).await.map_err(|error| error.to_string())
    }
}

/// The number of a test, where a check is one.
fn number(check: &Check) -> Option<usize> {
    check.name.strip_prefix("test ")?.parse().ok()
}
