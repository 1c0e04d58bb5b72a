//! Apps that are shipped with the program: the folders of `environments/app/`, compiled when they are first played.

use std::sync::Arc;

use palestra_apps::app::App;
use palestra_browser::Browsers;

use super::definition::{Files, digest_of_shipped};
use super::{AppKind, FAMILY};
use crate::embedded::{self, Version};
use palestra_environment::EnvironmentKind;

/// A shipped app.
#[derive(Debug, Clone, Copy)]
pub struct Shipped(Version);

/// Every shipped app, by name.
#[must_use]
pub fn all() -> Vec<Shipped> {
    embedded::newest(FAMILY).map(Shipped).collect()
}

/// Earlier versions of shipped apps: what began as one goes on as one.
#[must_use]
pub fn former() -> Vec<Shipped> {
    embedded::former(FAMILY).map(Shipped).collect()
}

impl Shipped {
    /// `app/name`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{FAMILY}/{}", self.0.name)
    }

    /// Its files.
    #[must_use]
    pub fn files(&self) -> Files {
        let files = self.0.files().into_iter();
        files.map(|(name, file)| (name, String::from_utf8_lossy(&file.bytes).into_owned())).collect()
    }

    /// Compiles it, which takes some milliseconds. Without browsers it is played on the other surfaces alone.
    ///
    /// # Errors
    /// With every fault of the definition.
    pub fn kind(&self, browsers: Option<Browsers>) -> Result<Arc<dyn EnvironmentKind>, String> {
        let files = self.files();
        let app = App::load(&files).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            faults.join("\n")
        })?;
        if *app.name != *self.0.name {
            return Err(format!("the app in the folder {} calls itself {}", self.0.name, app.name));
        }
        let version = app.version;
        let kind = AppKind::new(app, version, digest_of_shipped(&files));
        Ok(Arc::new(match browsers {
            Some(browsers) => kind.in_browsers(browsers),
            None => kind,
        }))
    }
}
