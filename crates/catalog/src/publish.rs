//! Publication: checks and proofs before a definition is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use palestra_protocol::environment::Published;
use palestra_protocol::problem::Fault;
use palestra_protocol::time::Timestamp;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{Catalog, CatalogError, blocking};
use palestra_families::definition::Parsed;
use palestra_families::published::Submission;
use palestra_families::work;
use palestra_store::row::DefinitionRow;

/// Rows of a publication that are proven concurrently.
const ADMITTED_AT_ONCE_MAX: usize = 4;
/// Refused rows that are reported.
const FAULTS_MAX: usize = 100;

/// A definition that passed every check, and is not stored.
struct Admitted {
    definition: DefinitionRow,
    rows: Vec<(String, Vec<Value>)>,
    notes: Vec<String>,
}

impl Catalog {
    /// Publishes a definition as the next version of its name; the same content again is the version that exists.
    ///
    /// # Errors
    /// All faults of the definition; nothing is stored then.
    pub async fn publish(
        &self,
        tenant: &str,
        submission: Submission,
        now: Timestamp,
    ) -> Result<Published, CatalogError> {
        let Admitted { definition, rows, notes } = self.examine(tenant, submission, now).await?;
        let (row, created) = self.0.store.publish(&definition, &rows).await?;
        Ok(Published { environment: self.built(row).await?.spec().clone(), created, notes })
    }

    /// Does all that [`Catalog::publish`] does, but stores nothing.
    ///
    /// # Errors
    /// All faults of the definition.
    pub async fn rehearse(
        &self,
        tenant: &str,
        submission: Submission,
        now: Timestamp,
    ) -> Result<Published, CatalogError> {
        let Admitted { mut definition, notes, .. } = self.examine(tenant, submission, now).await?;
        let newest = self.0.store.definition(tenant, &definition.name, None).await?;
        let same = newest.filter(|newest| newest.digest == definition.digest);
        let created = same.is_none();
        definition.version = match same {
            Some(same) => same.version,
            None => self.0.store.last_version(tenant, &definition.name).await?.unwrap_or(0) + 1,
        };
        let environment = self.build(&definition).await?.spec().clone();
        Ok(Published { environment, created, notes })
    }

    /// Withdraws a version of a published environment, the newest where none is named: it is not listed any more, and a name without a
    /// version does not mean it. Sessions, episodes and jobs that name it go on.
    ///
    /// # Errors
    /// When the tenant has no such environment, or it is built in.
    pub async fn withdraw(&self, tenant: &str, name: &str, now: Timestamp) -> Result<(), CatalogError> {
        let entry = self.find(tenant, name).await?;
        let spec = entry.spec();
        if !self.0.store.withdraw(tenant, &spec.name, spec.version, now).await? {
            let detail =
                format!("{} is a built-in environment: leave it, only published ones are withdrawn", spec.name);
            return Err(CatalogError::Faults(vec![Fault { detail, ..Fault::default() }]));
        }
        Ok(())
    }

    /// Reads, checks and proves what somebody wants to publish.
    async fn examine(&self, tenant: &str, submission: Submission, now: Timestamp) -> Result<Admitted, CatalogError> {
        let permit = Arc::clone(&self.0.checking).acquire_owned().await;
        let backends = self.0.backends.clone();
        // Dropped with the request.
        let (_caller, left) = oneshot::channel();
        let parse = move || {
            // Held until the work ends, even if the caller left.
            let _permit = permit;
            submission.parse(&backends, left).map_err(CatalogError::Faults)
        };
        let parsed = blocking(parse).await?;
        if self.0.builtin.contains_key(&parsed.name) {
            let detail = format!("{} is a built-in environment: choose another name", parsed.name);
            return Err(CatalogError::Faults(vec![Fault { detail, ..Fault::default() }]));
        }
        let parsed = self.admit(parsed).await?;
        let definition = DefinitionRow {
            tenant: tenant.to_owned(),
            name: parsed.name,
            version: 0,
            digest: parsed.digest,
            definition: parsed.definition,
            splits: parsed.splits,
            created_at: now,
        };
        Ok(Admitted { definition, rows: parsed.rows, notes: parsed.notes })
    }

    /// Proves by execution that rows of work can be solved and verified.
    async fn admit(&self, mut parsed: Parsed) -> Result<Parsed, CatalogError> {
        let Some(work) = work::family(&parsed.name) else { return Ok(parsed) };
        let _permit = self.0.checking.acquire().await;
        let rows = parsed.rows.iter().flat_map(|(split, rows)| rows.iter().enumerate().map(move |row| (split, row)));
        let rows: Vec<(&String, (usize, &Value))> = rows.collect();
        let (mut refused, mut notes) = (BTreeMap::new(), Vec::new());
        let (mut faults, mut otherwise) = (Vec::new(), Vec::new());
        let desk = &self.0.backends.desk;
        for part in rows.chunks(ADMITTED_AT_ONCE_MAX) {
            let admitted = part.iter().map(|(_, (_, row))| async {
                match work.admit(row, desk).await {
                    Ok(notes) => Ok((None, notes)),
                    Err(detail) => {
                        let form = work.admit_otherwise(row, &detail, desk).await;
                        form.map(|(row, notes)| (Some(row), notes)).ok_or(detail)
                    }
                }
            });
            for ((split, (index, row)), proof) in part.iter().zip(join_all(admitted).await) {
                let detail = match proof {
                    Ok((form, found)) => {
                        otherwise.extend(form.map(|form| ((*split).clone(), *index, form)));
                        notes.extend(found);
                        continue;
                    }
                    Err(detail) => detail,
                };
                let task = work::called(&*work, row);
                let field = Some(format!("{split}-{index}"));
                faults.push(Fault { field, detail: format!("{task}: {detail}"), ..Fault::default() });
                refused.insert(((*split).clone(), *index), detail);
            }
            if faults.len() >= FAULTS_MAX && !parsed.keep_going {
                break;
            }
        }
        let left = rows.len() - refused.len();
        if !faults.is_empty() && (!parsed.keep_going || left == 0) {
            return Err(CatalogError::Faults(faults));
        }
        if !refused.is_empty() || !otherwise.is_empty() {
            parsed = work::proven(parsed, otherwise, &refused)
                .map_err(|detail| CatalogError::Faults(vec![Fault { detail, ..Fault::default() }]))?;
        }
        work::add_notes(&mut parsed, notes);
        Ok(parsed)
    }
}
