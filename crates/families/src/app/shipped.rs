//! Apps that are shipped with the program: the folders of `environments/app/`, compiled when they are first played.

use std::sync::Arc;

use palestra_apps::app::App;

use super::definition::{Files, digest_of};
use super::{AppKind, FAMILY};
use palestra_environment::EnvironmentKind;

include!(concat!(env!("OUT_DIR"), "/shipped_apps.rs"));

/// A shipped app.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    folder: &'static str,
    files: &'static [(&'static str, &'static str)],
}

/// Every shipped app, by name.
#[must_use]
pub fn all() -> Vec<Shipped> {
    APPS.iter().map(|&(folder, files)| Shipped { folder, files }).collect()
}

/// Earlier versions of shipped apps: what began as one goes on as one.
#[must_use]
pub fn former() -> Vec<Shipped> {
    FORMER_APPS.iter().map(|&(folder, files)| Shipped { folder, files }).collect()
}

impl Shipped {
    /// `app/name`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{FAMILY}/{}", self.folder)
    }

    /// Its files.
    #[must_use]
    pub fn files(&self) -> Files {
        self.files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    /// Compiles it, which takes some milliseconds.
    ///
    /// # Errors
    /// With every fault of the definition.
    pub fn kind(&self) -> Result<Arc<dyn EnvironmentKind>, String> {
        let files = self.files();
        let app = App::load(&files).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            faults.join("\n")
        })?;
        if *app.name != *self.folder {
            return Err(format!("the app in the folder {} calls itself {}", self.folder, app.name));
        }
        let version = app.version;
        Ok(Arc::new(AppKind::new(app, version, digest_of(&files))))
    }
}
