//! Every reference is proven by running it, before anybody is asked its question.

use std::collections::BTreeMap;

use super::engines::Engines;
use super::test_bed::{Failure, TestBed, Ties};
use super::{FAULTS_MAX, Imported, order};
use crate::compare::difference;
use crate::dataset::Dataset;
use crate::engine::StatementResult;
use crate::fault::Fault;
use crate::task::{Check, Compare, Data, Spoken, Task};
use crate::translate::to_postgres;
use crate::value::Dialect;

/// Figures of an admission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    /// References that run on SQLite.
    pub sqlite: usize,
    /// Those that give rows.
    pub with_rows: usize,
    /// Those that give the same rows on PostgreSQL.
    pub postgres: usize,
    /// Those that give other rows on PostgreSQL only because rows tie where the reference cuts: with every column as a last key both
    /// engines give the same.
    pub postgres_but_for_ties: usize,
    /// Reason why the others are not played on PostgreSQL, each with its places.
    pub left_out: BTreeMap<String, Vec<String>>,
    /// References whose ORDER BY leaves ties, so that only their rows count and not the order.
    pub unordered: usize,
    /// References that cut between rows that tie, so that their answer is one of several.
    pub ambiguous: usize,
    /// Places of the rows whose result is the same on every other data, so that a query which writes it out is right.
    pub constant: Vec<usize>,
}

/// Runs every reference on every data of its task, on both engines. What PostgreSQL does not give as SQLite does is taken from the
/// task, which SQLite alone then plays; a variant on which the two differ is taken from the task. Where rows tie in a reference's
/// order, the order does not count; where it cuts between such rows, the task's metadata says `ambiguous`.
///
/// # Errors
/// References that do not run on SQLite, or databases that do not load again, with their places; engines that fail.
pub async fn admit(engines: &Engines, imported: &mut Imported) -> Result<Admission, Vec<Fault>> {
    let mut admission = Admission::default();
    let mut faults = Vec::new();
    let names: Vec<String> = imported.databases.keys().filter(|name| !name.contains('#')).cloned().collect();
    for name in names {
        let of_database = |(_, task): &(usize, &mut Task)| task.data == Data::Stored(name.clone());
        let all = imported.rows.iter_mut().map(|(_, task)| task).enumerate();
        let tasks: Vec<(usize, &mut Task)> = all.filter(of_database).collect();
        if tasks.is_empty() {
            continue;
        }
        let test_bed = match TestBed::open(engines, &imported.databases, &name, &mut imported.notes).await {
            Ok(test_bed) => test_bed,
            Err(fault) => {
                faults.push(fault);
                continue;
            }
        };
        let (dataset, notes) = (&imported.databases[&name], &mut imported.notes);
        let mut examination = Examination { name: &name, test_bed, dataset, admission: &mut admission, notes };
        for (place, task) in tasks {
            faults.extend(examination.task(place, task).await.err());
        }
        examination.test_bed.close().await;
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(admission) } else { Err(faults) }
}

/// The references of one database.
struct Examination<'a> {
    name: &'a str,
    test_bed: TestBed,
    dataset: &'a Dataset,
    admission: &'a mut Admission,
    notes: &'a mut Vec<String>,
}

impl Examination<'_> {
    async fn task(&mut self, place: usize, task: &mut Task) -> Result<(), Fault> {
        let label = format!("{}: {}", self.name, task.instruction.lines().next().unwrap_or_default());
        let begins_ms = task.begins_ms;
        let mut names: Vec<String> = std::iter::once(&task.data).chain(&task.others).filter_map(stored).collect();
        let Some((gold, compare, accepted)) = task.checks.iter_mut().find_map(|check| match &mut check.check {
            Check::Result { gold, compare, accepted } => Some((gold, compare, accepted)),
            _ => None,
        }) else {
            return Ok(());
        };
        let text = gold.in_dialect(Dialect::Sqlite).unwrap_or_default().to_owned();
        let asked = Asked { label: &label, what: "the reference", sql: &text, begins_ms };
        let first = self.run(&asked, &mut names, &mut compare.ordered).await?;
        if first.ties == Ties::AtTheCut {
            self.admission.ambiguous += 1;
            self.notes.push(format!(
                "{label}: a weak judge: the reference cuts between rows that tie, and a query that keeps another of them is wrong"
            ));
            task.metadata.insert("ambiguous".into(), true.into());
        }
        if first.results[0].1.rows.is_empty() {
            self.notes.push(format!("{label}: a weak judge: the reference gives no rows, as do many wrong queries"));
        } else {
            self.admission.with_rows += 1;
        }
        let mut runs = vec![(first, *compare)];
        for (number, other) in accepted.iter_mut().enumerate() {
            let what = format!("accepted query {}", number + 1);
            let sql = other.gold.in_dialect(Dialect::Sqlite).unwrap_or_default();
            let asked = Asked { label: &label, what: &what, sql, begins_ms };
            let run = self.run(&asked, &mut names, &mut other.ordered).await?;
            runs.push((run, Compare { ordered: other.ordered, ..*compare }));
        }
        self.admission.sqlite += 1;
        match self.postgres(gold, compare, &names, begins_ms).await {
            Ok(agreement) => {
                if agreement.but_for_ties {
                    self.admission.postgres_but_for_ties += 1;
                } else {
                    self.admission.postgres += 1;
                }
                for name in &agreement.unsure {
                    self.notes.push(format!(
                        "{label}: a weak judge: not judged on {name}, where the engines take different rows"
                    ));
                }
                names.retain(|name| !agreement.unsure.contains(name));
                for (number, other) in accepted.iter_mut().enumerate() {
                    let how = Compare { ordered: other.ordered, ..*compare };
                    match self.postgres(&other.gold, &how, &names, begins_ms).await {
                        Ok(agreement) if agreement.unsure.is_empty() => continue,
                        Err(Disagreement::Engine(why)) => return Err(Fault::new(&label, why)),
                        Ok(_) | Err(Disagreement::Reference { .. }) => {}
                    }
                    self.notes.push(format!("{label}: accepted query {} counts on SQLite alone", number + 1));
                    on_sqlite_alone(&mut other.gold);
                }
            }
            Err(Disagreement::Engine(why)) => return Err(Fault::new(&label, why)),
            Err(Disagreement::Reference { reason, detail }) => {
                self.notes.push(format!("{label}: not on PostgreSQL: {detail}"));
                self.admission.left_out.entry(reason).or_default().push(format!("{label}: {detail}"));
                on_sqlite_alone(gold);
            }
        }
        if runs.iter().any(|(run, compare)| run.is_constant(&names, compare)) {
            self.admission.constant.push(place);
        }
        task.others.retain(|other| stored(other).is_some_and(|name| names.contains(&name)));
        task.solution_submission = Some(gold.clone());
        Ok(())
    }

    /// Runs a reference on every data. Data on which it takes too long are taken from the names, unless they are the task's own.
    async fn run(&mut self, asked: &Asked<'_>, names: &mut Vec<String>, ordered: &mut bool) -> Result<Run, Fault> {
        let Asked { label, what, sql, begins_ms } = *asked;
        let mut run = Run { results: Vec::new(), ties: Ties::None };
        let mut slow = Vec::new();
        for name in names.iter() {
            let opened =
                self.test_bed.sqlite(name).ok_or_else(|| Fault::new(label, format!("there is no {name}: add it")))?;
            let result = match opened.run(sql, begins_ms).await {
                Ok(result) => result,
                Err(Failure::Slow) if name != self.name => {
                    self.notes
                        .push(format!("{label}: a weak judge: not judged on {name}, where {what} takes too long"));
                    slow.push(name.clone());
                    continue;
                }
                Err(why) => return Err(Fault::new(label, format!("{name}: {what}: {why}"))),
            };
            let ties = opened.ties(sql, begins_ms).await;
            if *ordered && ties != Ties::None {
                *ordered = false;
                self.admission.unordered += 1;
                self.notes.push(format!(
                    "{label}: a weak judge: rows tie in the order of {what} on {name}, so that the order does not count"
                ));
            }
            if name == self.name {
                run.ties = ties;
            }
            run.results.push((name.clone(), result));
        }
        names.retain(|name| !slow.contains(name));
        Ok(run)
    }

    /// Where the reference in PostgreSQL's words gives what SQLite gives; the reason and more about it, where it does not on the
    /// task's own data.
    async fn postgres(
        &mut self,
        gold: &Spoken,
        compare: &Compare,
        names: &[String],
        begins_ms: Option<i64>,
    ) -> Result<Agreement, Disagreement> {
        let sqlite = gold.in_dialect(Dialect::Sqlite).unwrap_or_default();
        let Some(postgres) = gold.in_dialect(Dialect::Postgres) else {
            let fault = to_postgres(sqlite, self.dataset).err();
            return Err(fault.map_or_else(
                || Disagreement::of_reference("no reference", "there is none in its dialect"),
                |fault| Disagreement::of_reference(fault.reason(), fault.to_string()),
            ));
        };
        let mut agreement = Agreement::default();
        for name in names {
            let Some(difference) = self.differs(name, (sqlite, postgres), compare, begins_ms).await? else { continue };
            let but_for_ties = self.agrees_without_ties(name, sqlite, compare, begins_ms).await?;
            if name == self.name && !but_for_ties {
                return Err(Disagreement::of_reference("other rows on PostgreSQL", difference));
            } else if name == self.name {
                agreement.but_for_ties = true;
            } else if !but_for_ties {
                agreement.unsure.push(name.clone());
            }
        }
        Ok(agreement)
    }

    /// Tests whether the engines agree once no two rows stand alike in the reference's order.
    async fn agrees_without_ties(
        &mut self,
        name: &str,
        sqlite: &str,
        compare: &Compare,
        begins_ms: Option<i64>,
    ) -> Result<bool, Disagreement> {
        let Some(probes) = order::probes(sqlite).filter(|_| order::cuts(sqlite)) else { return Ok(false) };
        for probe in probes {
            let Ok(translated) = to_postgres(&probe, self.dataset) else { return Ok(false) };
            if self.differs(name, (&probe, &translated), compare, begins_ms).await?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Difference of the results of both engines.
    async fn differs(
        &mut self,
        name: &str,
        (sqlite, postgres): (&str, &str),
        compare: &Compare,
        begins_ms: Option<i64>,
    ) -> Result<Option<String>, Disagreement> {
        let why_not = self.test_bed.why_not.clone();
        let failed = |why: Failure| match why {
            Failure::Engine(_) => Disagreement::Engine(why.to_string()),
            _ => Disagreement::of_reference("an error on PostgreSQL", format!("{why}: {postgres}")),
        };
        let (Some(expected), Some(found)) = self.test_bed.both(name) else {
            return Err(Disagreement::of_reference(why_not.clone(), why_not));
        };
        let expected = expected.run(sqlite, begins_ms).await.map_err(failed)?;
        let found = found.run(postgres, begins_ms).await.map_err(failed)?;
        let how = Compare { strict_types: false, ..*compare };
        let difference = difference((&expected).into(), (&found).into(), &how);
        Ok(difference.map(|difference| format!("{name}: {difference}: {postgres}")))
    }
}

/// A reference of a question.
struct Asked<'a> {
    label: &'a str,
    /// Its name for notes.
    what: &'a str,
    sql: &'a str,
    begins_ms: Option<i64>,
}

/// Results of a reference on SQLite.
struct Run {
    /// By database, the task's own first.
    results: Vec<(String, StatementResult)>,
    /// On the task's own.
    ties: Ties,
}

impl Run {
    /// True if it gives the same on all of these: then so does a query that writes its result out.
    fn is_constant(&self, names: &[String], compare: &Compare) -> bool {
        let Some(((_, own), others)) = self.results.split_first() else { return true };
        let judged = others.iter().filter(|(name, _)| names.contains(name));
        judged.map(|(_, other)| other).all(|other| difference(own.into(), other.into(), compare).is_none())
    }
}

fn on_sqlite_alone(gold: &mut Spoken) {
    let text = gold.in_dialect(Dialect::Sqlite).unwrap_or_default().to_owned();
    *gold = Spoken::Each(BTreeMap::from([(Dialect::Sqlite, text)]));
}

/// Agreement of the engines on a reference.
#[derive(Default)]
struct Agreement {
    /// On the task's own data, only once ties are broken.
    but_for_ties: bool,
    /// Variants on which they do not: there the reference leaves open which rows it means.
    unsure: Vec<String>,
}

/// Reason why the engines do not agree on a reference.
enum Disagreement {
    /// The reference, in a few words and in more. The task is then played on SQLite alone.
    Reference { reason: String, detail: String },
    /// An engine failed, so that nothing is known.
    Engine(String),
}

impl Disagreement {
    fn of_reference(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Reference { reason: reason.into(), detail: detail.into() }
    }
}

fn stored(data: &Data) -> Option<String> {
    match data {
        Data::Stored(name) => Some(name.clone()),
        Data::World { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::engine::{Database, Engine, EngineError, Opening};
    use crate::import::read;
    use crate::source::Source;
    use crate::stand_in::{StandIn, Switches};

    /// An engine that takes its scripts for PostgreSQL's.
    struct AsPostgres(StandIn);

    #[async_trait]
    impl Engine for AsPostgres {
        fn dialect(&self) -> Dialect {
            Dialect::Postgres
        }

        async fn prepare(&self, source: &Arc<Source>) -> Result<(), EngineError> {
            self.0.prepare(source).await
        }

        async fn open(&self, source: &Arc<Source>, opening: &Opening) -> Result<Box<dyn Database>, EngineError> {
            self.0.open(source, opening).await
        }
    }

    #[tokio::test]
    async fn an_engine_that_fails_between_two_queries_says_nothing_about_the_reference() {
        let switches = Arc::new(Switches::default());
        let engines = Engines {
            sqlite: Arc::new(StandIn(Arc::default())),
            postgres: Some(Arc::new(AsPostgres(StandIn(Arc::clone(&switches))))),
        };
        let question = json!([{"db": "shop", "question": "Which?", "gold": "SELECT id FROM items"}]);
        let files = BTreeMap::from([
            ("questions.json".to_owned(), question.to_string().into_bytes()),
            ("shop.sql".to_owned(), b"CREATE TABLE items (id INT); INSERT INTO items VALUES (1), (2)".to_vec()),
        ]);
        let imported = async || read(&files, &engines.sqlite).await.expect("a folder");
        let agreed = admit(&engines, &mut imported().await).await.expect("both give the same");
        assert_eq!((agreed.sqlite, agreed.postgres), (1, 1));
        switches.losses.store(1, Ordering::Relaxed);
        let faults = admit(&engines, &mut imported().await).await.expect_err("PostgreSQL is lost");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].to_string().contains("the engine failed while the reference ran"), "{faults:?}");
    }
}
