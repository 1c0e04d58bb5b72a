//! Every reference is proven by running it, before anybody is asked its question.

use std::collections::BTreeMap;

use super::engines::Engines;
use super::test_bed::{Failure, TestBed, Ties};
use super::{FAULTS_MAX, Imported, order};
use crate::compare::difference;
use crate::dataset::Dataset;
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
}

/// Runs every reference on every data of its task, on both engines. What PostgreSQL does not give as SQLite does is taken from the
/// task, which SQLite alone then plays; a variant on which the two differ is taken from the task. Where rows tie in a reference's order, the order does not count; where it cuts between
/// such rows, the task's metadata says `ambiguous`.
///
/// # Errors
/// References that do not run on SQLite, or databases that do not load again, with their places; engines that fail.
pub async fn admit(engines: &Engines, imported: &mut Imported) -> Result<Admission, Vec<Fault>> {
    let mut admission = Admission::default();
    let mut faults = Vec::new();
    let names: Vec<String> = imported.databases.keys().filter(|name| !name.contains('#')).cloned().collect();
    for name in names {
        let of_database = |task: &&mut Task| task.data == Data::Stored(name.clone());
        let tasks: Vec<&mut Task> = imported.rows.iter_mut().map(|(_, task)| task).filter(of_database).collect();
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
        for task in tasks {
            faults.extend(examination.task(task).await.err());
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
    async fn task(&mut self, task: &mut Task) -> Result<(), Fault> {
        let label = format!("{}: {}", self.name, task.instruction.lines().next().unwrap_or_default());
        let mut names: Vec<String> = std::iter::once(&task.data).chain(&task.others).filter_map(stored).collect();
        let Some((gold, compare)) = task.checks.iter_mut().find_map(|check| match &mut check.check {
            Check::Result { gold, compare } => Some((gold, compare)),
            _ => None,
        }) else {
            return Ok(());
        };
        let text = gold.in_dialect(Dialect::Sqlite).unwrap_or_default().to_owned();
        let mut slow = Vec::new();
        for name in &names {
            let opened =
                self.test_bed.sqlite(name).ok_or_else(|| Fault::new(&label, format!("there is no {name}: add it")))?;
            let result = match opened.run(&text).await {
                Ok(result) => result,
                Err(Failure::Slow) if name != self.name => {
                    self.notes.push(format!("{label}: not judged on {name}, where the reference takes too long"));
                    slow.push(name.clone());
                    continue;
                }
                Err(why) => return Err(Fault::new(&label, format!("{name}: {why}"))),
            };
            let ties = opened.ties(&text).await;
            if compare.ordered && ties != Ties::None {
                compare.ordered = false;
                self.admission.unordered += 1;
                self.notes
                    .push(format!("{label}: rows tie in the reference's order on {name}: the order does not count"));
            }
            if name != self.name {
                continue;
            }
            if ties == Ties::AtTheCut {
                self.admission.ambiguous += 1;
                self.notes.push(format!("{label}: the reference cuts between rows that tie"));
                task.metadata.insert("ambiguous".into(), true.into());
            }
            if result.rows.is_empty() {
                self.notes.push(format!("{label}: the reference gives no rows"));
            } else {
                self.admission.with_rows += 1;
            }
        }
        names.retain(|name| !slow.contains(name));
        task.others.retain(|other| !stored(other).is_some_and(|name| slow.contains(&name)));
        self.admission.sqlite += 1;
        match self.postgres(gold, compare, &names).await {
            Ok(agreement) => {
                if agreement.but_for_ties {
                    self.admission.postgres_but_for_ties += 1;
                } else {
                    self.admission.postgres += 1;
                }
                for name in &agreement.unsure {
                    self.notes.push(format!("{label}: not judged on {name}, where the engines take different rows"));
                }
                task.others.retain(|other| !stored(other).is_some_and(|name| agreement.unsure.contains(&name)));
            }
            Err((reason, detail)) => {
                self.notes.push(format!("{label}: not on PostgreSQL: {detail}"));
                self.admission.left_out.entry(reason).or_default().push(format!("{label}: {detail}"));
                *gold = Spoken::Each(BTreeMap::from([(Dialect::Sqlite, text)]));
            }
        }
        task.solution_submission = Some(gold.clone());
        Ok(())
    }

    /// Where the reference in PostgreSQL's words gives what SQLite gives; the reason and more about it, where it does not on the
    /// task's own data.
    async fn postgres(
        &mut self,
        gold: &Spoken,
        compare: &Compare,
        names: &[String],
    ) -> Result<Agreement, (String, String)> {
        let sqlite = gold.in_dialect(Dialect::Sqlite).unwrap_or_default();
        let Some(postgres) = gold.in_dialect(Dialect::Postgres) else {
            let fault = to_postgres(sqlite, self.dataset).err();
            return Err(fault.map_or_else(
                || ("no reference".into(), "there is none in its dialect".into()),
                |fault| (fault.reason().into(), fault.to_string()),
            ));
        };
        let mut agreement = Agreement::default();
        for name in names {
            let Some(difference) = self.differs(name, sqlite, postgres, compare).await? else { continue };
            let but_for_ties = self.agrees_without_ties(name, sqlite, compare).await?;
            if name == self.name && !but_for_ties {
                return Err(("other rows on PostgreSQL".into(), difference));
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
    ) -> Result<bool, (String, String)> {
        let Some(probes) = order::probes(sqlite).filter(|_| order::cuts(sqlite)) else { return Ok(false) };
        for probe in probes {
            let Ok(translated) = to_postgres(&probe, self.dataset) else { return Ok(false) };
            if self.differs(name, &probe, &translated, compare).await?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Difference of the results of both engines.
    async fn differs(
        &mut self,
        name: &str,
        sqlite: &str,
        postgres: &str,
        compare: &Compare,
    ) -> Result<Option<String>, (String, String)> {
        let why_not = self.test_bed.why_not.clone();
        let failed = |why: Failure| ("an error on PostgreSQL".to_owned(), format!("{why}: {postgres}"));
        let (Some(expected), Some(found)) = self.test_bed.both(name) else { return Err((why_not.clone(), why_not)) };
        let expected = expected.run(sqlite).await.map_err(failed)?;
        let found = found.run(postgres).await.map_err(failed)?;
        let how = Compare { strict_types: false, ..*compare };
        let difference = difference((&expected).into(), (&found).into(), &how);
        Ok(difference.map(|difference| format!("{name}: {difference}: {postgres}")))
    }
}

/// Agreement of the engines on a reference.
#[derive(Default)]
struct Agreement {
    /// On the task's own data, only once ties are broken.
    but_for_ties: bool,
    /// Variants on which they do not: there the reference leaves open which rows it means.
    unsure: Vec<String>,
}

fn stored(data: &Data) -> Option<String> {
    match data {
        Data::Stored(name) => Some(name.clone()),
        Data::World { .. } => None,
    }
}
