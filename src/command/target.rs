//! The target of a client command: a server by its address, or one inside this process.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command, FromArgMatches};
use palestra_client::Client;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use super::failure::Failure;
use super::serve::serve;
use crate::app::App;
use crate::config::{Config, ConfigArguments, Secret};
use crate::terminal::errors;

/// Bytes of the credential that an in-process server is given.
const KEY_BYTES: usize = 16;

/// The target of a command.
#[derive(Debug, Clone, Default, Args)]
pub struct TargetArguments {
    /// Address of the server; without one the engine runs inside this command.
    #[arg(long, env = "PALESTRA_URL", global = true)]
    pub url: Option<String>,
    /// API key for the server.
    #[arg(long, env = "PALESTRA_API_KEY", hide_env_values = true, global = true)]
    pub key: Option<String>,
    /// Data folder of the engine inside this command, where no server is named.
    #[arg(long, env = "PALESTRA_DATA", value_name = "FOLDER", global = true)]
    pub data: Option<PathBuf>,
    /// Images of sandboxes for the engine inside this command [default: ./palestra-data/images].
    #[arg(long, env = "PALESTRA_IMAGES", value_name = "FOLDER", global = true)]
    pub images: Option<PathBuf>,
}

/// A server to talk to; end it with [`Target::close`].
pub struct Target {
    /// The client of it.
    pub client: Client,
    /// Its address.
    pub url: String,
    inside: Option<Inside>,
}

/// A server inside this process.
struct Inside {
    app: App,
    tracker: TaskTracker,
    /// Removed when the command ends.
    folder: Option<tempfile::TempDir>,
}

/// Storage of an in-process server when no data folder is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nothing: everything is gone when the command ends.
    Nothing,
    /// Everything, in the folder that `serve` uses as well.
    DefaultFolder,
}

impl TargetArguments {
    /// True if sessions and episodes are still there when the command has ended, whatever the command needs.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.url.is_some() || self.data.is_some()
    }

    /// The flag with which another command finds what this one leaves, with a blank before it; empty where a server or a variable says
    /// it.
    #[must_use]
    pub fn data_flag(&self) -> String {
        if self.url.is_some() || std::env::var_os("PALESTRA_DATA").is_some() {
            return String::new();
        }
        format!(" --data {}", self.folder().display())
    }

    /// The data folder of the engine inside this command.
    fn folder(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| Config::default().data)
    }

    /// Connects to the named server, or starts one inside this process.
    ///
    /// # Errors
    /// When the address cannot be used, or the engine cannot start; another server that holds the data folder is such a case.
    pub async fn open(&self, keep: Keep) -> Result<Target, Failure> {
        match &self.url {
            Some(url) => Ok(Target { client: Client::new(url, self.key.as_deref())?, url: url.clone(), inside: None }),
            None => {
                if self.data.is_none() && keep == Keep::DefaultFolder {
                    let folder = self.folder();
                    // Nothing is left to tell when standard error is closed.
                    let _ = writeln!(
                        errors(),
                        "no server is named, so this works on the data folder {} (--url names a server, --data another folder)",
                        folder.display()
                    );
                }
                start(self.data.clone(), self.images.clone(), keep).await
            }
        }
    }
}

async fn start(data: Option<PathBuf>, images: Option<PathBuf>, keep: Keep) -> Result<Target, Failure> {
    let folder = match (&data, keep) {
        (None, Keep::Nothing) => Some(tempfile::tempdir()?),
        _ => None,
    };
    let default = Config::default();
    // Images are built once, whichever folder the command works in.
    let images = images.or_else(|| data.is_none().then(|| default.data.join("images")));
    let data = data.or_else(|| folder.as_ref().map(|folder| folder.path().to_owned())).unwrap_or(default.data.clone());
    let mut random = [0; KEY_BYTES];
    getrandom::fill(&mut random).map_err(|error| Failure::Other(error.to_string()))?;
    let key = hex::encode(random);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let config = Config { data, images, admin_key: Some(Secret::from(key.clone())), ..with_sandboxes(default)? };
    let app = App::open(config)
        .await
        .map_err(|error| Failure::Other(format!("{error}; name a running server with --url")))?;
    let tracker = TaskTracker::new();
    tracker.spawn(serve(app.clone(), listener));
    Ok(Target { client: Client::new(&url, Some(&key))?, url, inside: Some(Inside { app, tracker, folder }) })
}

/// A configuration with what variables and the settings file say about sandboxes and browsers.
fn with_sandboxes(config: Config) -> Result<Config, Failure> {
    let command = ConfigArguments::augment_args(Command::new("palestra"));
    let matches = command.get_matches_from(["palestra"]);
    let arguments = ConfigArguments::from_arg_matches(&matches).map_err(|error| Failure::Other(error.to_string()))?;
    let said = Config::load(&arguments).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(Config {
        browser_hosts: said.browser_hosts,
        chromium: said.chromium,
        docker_host: said.docker_host,
        docker_runtime: said.docker_runtime,
        image_aliases: said.image_aliases,
        publish_timeout_ms: said.publish_timeout_ms,
        sandbox: said.sandbox,
        sandbox_network: said.sandbox_network,
        sandbox_root_rights: said.sandbox_root_rights,
        sandbox_memory_max: said.sandbox_memory_max,
        sandbox_cores_max: said.sandbox_cores_max,
        sandbox_disk_max: said.sandbox_disk_max,
        ..config
    })
}

impl Target {
    /// Ends a server inside this process, after everything that was answered is stored.
    pub async fn close(self) {
        let Some(inside) = self.inside else { return };
        inside.app.shutdown().cancel();
        inside.tracker.close();
        inside.tracker.wait().await;
        drop(inside.folder);
    }
}
