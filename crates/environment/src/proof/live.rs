//! Proof of tasks that are done outside this process: each is played and judged there, by its solution, by doing nothing, and by
//! what must not pass.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::StreamExt;
use serde_json::Value;

use super::Proof;

/// Cases that are proven at the same time.
const AT_ONCE: usize = 2;

/// A task that is to be proven.
#[derive(Debug, Clone, PartialEq)]
pub struct ProofTask {
    /// Its name among those of its split.
    pub name: String,
    /// Randomness of the places that it is played in.
    pub seed: u64,
    /// The task, as place and judge know it.
    pub secret: Value,
}

/// Proves the tasks of an environment where they are done.
#[async_trait]
pub trait Prover: Send + Sync {
    /// Checks that the back ends of the tasks are there, as far as that is known without starting them.
    ///
    /// # Errors
    /// In words, what is missing and what to do about it.
    fn check_available(&self) -> Result<(), String>;

    /// The number of cases of a split where `seeds` tasks of each template are wanted, or so many rows.
    fn cases(&self, split: &str, seeds: u64) -> u64;

    /// Case `number` of a split, where the environment makes its tasks. It may take more than a millisecond.
    ///
    /// # Errors
    /// In words, when nothing can be made of it, which is a fault of the environment.
    fn case(&self, split: &str, number: u64) -> Result<ProofTask, String>;

    /// The faults of a task; none where it is sound.
    ///
    /// # Errors
    /// In words, when what it is done with cannot be had.
    async fn prove(&self, task: &ProofTask) -> Result<Vec<String>, String>;
}

/// Proves the cases of every split, in order.
///
/// # Errors
/// In words, when what they are done with cannot be had.
pub async fn prove(prover: &dyn Prover, splits: &BTreeMap<String, u64>, seeds: u64) -> Result<Proof, String> {
    prover.check_available()?;
    let cases: Vec<(&String, u64)> =
        splits.keys().flat_map(|split| (0..prover.cases(split, seeds)).map(move |number| (split, number))).collect();
    let mut proof = Proof { tasks: cases.len(), faults: Vec::new() };
    let proofs = cases.into_iter().map(|(split, number)| async move {
        let task = match prover.case(split, number) {
            Ok(task) => task,
            Err(fault) => return Ok((format!("{split} {number}"), vec![fault])),
        };
        let faults = prover.prove(&task).await?;
        Ok::<_, String>((format!("{split} {}", task.name), faults))
    });
    let mut proven = futures::stream::iter(proofs).buffered(AT_ONCE);
    while let Some(found) = proven.next().await {
        let (place, faults) = found?;
        proof.faults.extend(faults.into_iter().map(|fault| (place.clone(), fault)));
    }
    Ok(proof)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case 1 of each split is broken, case 2 cannot be made.
    struct Three {
        available: bool,
    }

    #[async_trait]
    impl Prover for Three {
        fn check_available(&self) -> Result<(), String> {
            if self.available { Ok(()) } else { Err("the back end is missing".to_owned()) }
        }

        fn cases(&self, _split: &str, seeds: u64) -> u64 {
            seeds.min(3)
        }

        fn case(&self, _split: &str, number: u64) -> Result<ProofTask, String> {
            let task = ProofTask { name: format!("task-{number}"), seed: number, secret: Value::Null };
            if number == 2 { Err("nothing to draw from".to_owned()) } else { Ok(task) }
        }

        async fn prove(&self, task: &ProofTask) -> Result<Vec<String>, String> {
            Ok(if task.seed == 1 { vec!["the solution scores 0.5".to_owned()] } else { Vec::new() })
        }
    }

    #[tokio::test]
    async fn every_case_is_proven_and_faults_stand_with_their_places() {
        let splits = BTreeMap::from([("test".to_owned(), 3), ("train".to_owned(), 9)]);
        let proof = prove(&Three { available: true }, &splits, 100).await.unwrap();
        assert_eq!(proof.tasks, 6);
        let places: Vec<&str> = proof.faults.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(places, ["test task-1", "test 2", "train task-1", "train 2"]);
        assert!(prove(&Three { available: true }, &splits, 1).await.unwrap().faults.is_empty());
    }

    #[tokio::test]
    async fn nothing_is_proven_without_back_ends() {
        let splits = BTreeMap::from([("test".to_owned(), 3)]);
        assert_eq!(prove(&Three { available: false }, &splits, 1).await, Err("the back end is missing".to_owned()));
    }
}
