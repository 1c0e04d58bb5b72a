//! The sorts of definitions: how each is read when it is published, and the kind that a stored one makes.

use std::sync::Arc;

use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Fault;

use crate::app::{self, AppKind, Files};
use crate::backends::Backends;
use crate::definition::{APP, Definition, Left, Parsed, misnamed};
use crate::{dataset, sql, web, work};
use palestra_environment::EnvironmentKind;

/// A definition to publish.
pub enum Submission {
    /// Questions, in a file of lines.
    Dataset(dataset::Submission, Vec<u8>),
    /// An app, in files of its own.
    App(Files),
    /// Work that is done in sandboxes.
    Work(work::Submission),
    /// Databases.
    Sql(sql::Submission),
    /// Web pages.
    Web(web::Submission),
}

impl Submission {
    /// Reads and checks it, which may take long and is called on the blocking pool. What runs statements of others ends where nobody
    /// waits for it any more.
    ///
    /// # Errors
    /// With every fault.
    pub fn parse(self, backends: &Backends, left: Left) -> Result<Parsed, Vec<Fault>> {
        let faults = self.misnamed();
        if !faults.is_empty() {
            return Err(faults);
        }
        let parsed = match self {
            Self::Dataset(submission, body) => {
                let parsed = dataset::parse(&submission, &body)?;
                let splits = parsed.splits();
                let dataset::Parsed { name, definition, rows, digest } = parsed;
                Parsed {
                    name,
                    definition,
                    splits,
                    rows,
                    digest,
                    notes: Vec::new(),
                    left_out: Vec::new(),
                    keep_going: false,
                }
            }
            Self::App(files) => app::parse(&files)?,
            Self::Work(submission) => work::parse(&submission, &backends.desk.sandboxes)?,
            Self::Sql(submission) => sql::parse(submission, &backends.databases, left)?,
            Self::Web(submission) => web::parse(submission, &backends.browsers, left)?,
        };
        let faults = parsed.misnamed();
        if faults.is_empty() { Ok(parsed) } else { Err(faults) }
    }

    /// The faults of the names beside the files, which are told before anything is proven.
    fn misnamed(&self) -> Vec<Fault> {
        let (name, tags) = match self {
            Self::Dataset(submission, _) => (submission.name.as_deref(), &submission.tags),
            Self::Work(submission) => (Some(submission.name.as_str()), &submission.tags),
            Self::Sql(submission) => (Some(submission.name.as_str()), &submission.tags),
            Self::Web(submission) => (Some(submission.name.as_str()), &submission.tags),
            Self::App(_) => return Vec::new(),
        };
        let name = name.map(|name| (NameKind::Environment, "name", name));
        let tags = tags.iter().map(|tag| (NameKind::Label, "tags", tag.as_str()));
        misnamed(name.into_iter().chain(tags))
    }
}

impl Definition<'_> {
    /// True if it takes more than a millisecond to build.
    #[must_use]
    pub fn is_heavy(&self) -> bool {
        self.is_app() || sql::is_sql(self.name) || web::is_web(self.name)
    }

    /// The kind that it makes.
    ///
    /// # Errors
    /// When it does not have the stored form.
    pub fn kind(&self, backends: &Backends) -> Result<Arc<dyn EnvironmentKind>, String> {
        match self.definition.get("kind") {
            None => dataset::kind(self),
            Some(kind) if kind == APP => {
                let files = app::files_of(self.definition)?;
                let app = palestra_apps::app::App::load(&files);
                let app = app.map_err(|faults| faults.first().map(ToString::to_string).unwrap_or_default())?;
                let kind = AppKind::new(app, self.version, self.digest.to_owned());
                Ok(Arc::new(kind.in_browsers(backends.browsers.clone())))
            }
            Some(_) if work::family(self.name).is_some() => work::kind(self, &backends.desk),
            Some(_) if sql::is_sql(self.name) => sql::kind(self, &backends.databases),
            Some(_) if web::is_web(self.name) => web::kind(self, &backends.browsers),
            Some(other) => Err(format!(
                "there is no sort of definition {other}: upgrade this server to the version that wrote the store"
            )),
        }
    }
}
