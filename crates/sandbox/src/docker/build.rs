//! Images from other people's container files, for those who have an engine that can reach what the files install.

use std::io;
use std::path::Path;

use futures::StreamExt as _;

use super::channel::{readable, written};
use super::engine::Container;
use super::{Docker, labels};
use crate::error::SandboxError;
use crate::image::{BuildError, Contents, Image, Images, store};
use crate::profile::Network;

impl Docker {
    /// Builds the image of a container file with this engine and makes it the one of this name, for every back end. The file's
    /// folder is what it copies from; a `.dockerignore` is not looked at. `progress` gets the engine's lines.
    ///
    /// # Errors
    /// [`BuildError`]; then all is as it was.
    pub async fn build(
        &self,
        images: &Images,
        name: &str,
        dockerfile: &Path,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Image, BuildError> {
        let (Some(folder), Some(file)) = (dockerfile.parent(), dockerfile.file_name().and_then(|file| file.to_str()))
        else {
            return Err(BuildError::Definition(format!(
                "{} is no container file: name one of sandboxes/",
                dockerfile.display()
            )));
        };
        if !dockerfile.is_file() {
            return Err(BuildError::Definition(format!("{} is no file: name one of sandboxes/", dockerfile.display())));
        }
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.to_owned();
        let context = written(move |to| {
            let mut builder = tar::Builder::new(to);
            builder.follow_symlinks(false);
            builder.append_dir_all(".", &folder)?;
            builder.finish()
        });
        let tag = format!("palestra/build-{}:{}", self.options.server.to_lowercase(), name.to_lowercase());
        let (id, env, work) = self.engine.build(&tag, file, context, progress).await.map_err(failed)?;
        let env = env.iter().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.into(), value.into()));
        let contents = Contents { origin: format!("docker {id}"), env: env.collect(), folder: work };
        let exported = self.export(images, name, &tag, contents, progress).await;
        // The engine keeps its layers, so that building again is quick; the name is not needed.
        self.engine.remove_image(&tag).await.map_err(failed)?;
        exported
    }

    /// Takes the files of an engine's image.
    async fn export(
        &self,
        images: &Images,
        name: &str,
        tag: &str,
        contents: Contents,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Image, BuildError> {
        progress("taking the files out of the engine");
        let container = Container {
            name: format!("palestra-export-{}-{name}", self.process),
            labels: labels(&self.options.server, &self.process),
            image: tag.to_owned(),
            // It never runs.
            command: vec!["/none".to_owned()],
            program: None,
            volume: None,
            capabilities: Vec::new(),
            memory_bytes: 0,
            data_bytes: 0,
            cpu_thousandths: 0,
            processes: 0,
            network: Network::None,
            runtime: None,
        };
        let from = container.name.clone();
        self.engine.create(container).await.map_err(|not_made| failed(not_made.error))?;
        let (sender, reader) = readable();
        let (images, name) = (images.clone(), name.to_owned());
        let storing = tokio::task::spawn_blocking(move || store(&images, &name, &contents, reader));
        let mut pieces = Box::pin(self.engine.export(&from));
        while let Some(piece) = pieces.next().await {
            if sender.send(piece).await.is_err() {
                break;
            }
        }
        drop(sender);
        let stored = storing.await.unwrap_or_else(|error| {
            Err(BuildError::Disk { what: "the files of the image".to_owned(), error: io::Error::other(error) })
        });
        self.engine.remove(&from).await.map_err(failed)?;
        stored
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands errors over")]
fn failed(error: SandboxError) -> BuildError {
    BuildError::Failed { program: "the Docker engine", detail: error.to_string() }
}
