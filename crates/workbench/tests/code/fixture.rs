//! A workbench of this machine for tests: the local back end, with the image `languages` where it is built and else the host's programs.

use std::path::PathBuf;
use std::sync::Arc;

use palestra_sandbox::blob::Blobs;
use palestra_sandbox::docker::Options;
use palestra_sandbox::image::Images;
use palestra_sandbox::local::Local;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Backend, Docker, SandboxError, SandboxSpec, Sandboxes, shipped};
use palestra_state::secrets::Secrets;
use palestra_workbench::code::{Code, Problem};
use palestra_workbench::work::{Check, JudgeError, Judgement, Work, Workbench};
use serde_json::json;

/// True if everything is tried; otherwise a part of it, in every language.
pub(crate) fn thorough() -> bool {
    std::env::var("PALESTRA_TASKS").is_ok_and(|tasks| tasks == "all")
}

pub(crate) struct Fixture {
    pub(crate) workbench: Workbench,
    pub(crate) code: Code,
    pub(crate) image: &'static str,
    _folder: tempfile::TempDir,
}

/// On this machine; `None`, after saying so, where no sandbox can be had here.
pub(crate) async fn fixture() -> Option<Fixture> {
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(folder.path()).map(|local| Arc::new(local) as Arc<dyn Backend>);
    on(local, folder, ["languages", "host"]).await
}

/// In containers of the engine that `PALESTRA_TEST_DOCKER` names; `None`, after saying so, where it names none.
pub(crate) async fn contained() -> Option<Fixture> {
    let Ok(host) = std::env::var("PALESTRA_TEST_DOCKER") else {
        palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER)");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().file_name().expect("a name").to_string_lossy().replace('.', "code-");
    let options = Options { host, server, folder: folder.path().to_owned(), runtime: None };
    let docker = Docker::connect(options).await.map(|docker| Arc::new(docker) as Arc<dyn Backend>);
    // An engine is filled with an image first, and this one is small.
    on(docker, folder, ["python", "build"]).await
}

async fn on(
    backend: Result<Arc<dyn Backend>, SandboxError>,
    folder: tempfile::TempDir,
    names: [&'static str; 2],
) -> Option<Fixture> {
    let images = std::env::var_os("PALESTRA_IMAGES").map_or_else(|| folder.path().join("images"), PathBuf::from);
    let images = Images::new(images);
    let Some(image) = names.into_iter().find(|name| images.resolve(name).is_ok()) else {
        palestra_test_support::not_tried(format_args!("the image {} (PALESTRA_IMAGES)", names[0]));
        return None;
    };
    let profiles = shipped::profiles().expect("profiles");
    let usable = match backend {
        Ok(backend) => backend.examine(&profiles["code"]).await.map(|_| backend),
        Err(error) => Err(error),
    };
    let backend = match usable {
        Ok(backend) => backend,
        Err(error) => {
            palestra_test_support::not_tried(format_args!("sandboxes: {error}"));
            return None;
        }
    };
    let bounds = Bounds { sandboxes_max: 16, warm_min: 0 };
    let sandboxes = Sandboxes::new(vec![backend], images, profiles, bounds);
    let workbench = Workbench { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
    Some(Fixture { workbench, code: Code::on(image), image, _folder: folder })
}

impl Fixture {
    pub(crate) async fn judge(&self, problem: &Problem, language: &str, source: &str) -> Result<Judgement, JudgeError> {
        let row = serde_json::to_value(problem).expect("a row");
        self.code.judge(&row, Secrets::Seed(0), &json!({"language": language, "source": source}), &self.workbench).await
    }

    /// The status of every test, or of what kept the judge.
    pub(crate) async fn statuses(&self, problem: &Problem, language: &str, source: &str) -> Vec<String> {
        match self.judge(problem, language, source).await {
            Ok(judgement) => statuses(&judgement),
            Err(error) => vec![format!("{error:?}")],
        }
    }

    /// Output of a Python script.
    pub(crate) async fn output(&self, script: &str, input: String) -> String {
        let want = SandboxSpec::new(None, self.image, "code");
        let sandbox = self.workbench.sandboxes.take(&want).await.expect("a sandbox");
        let command = palestra_sandbox::Command::new(["python3", "-c", script]).input(input);
        let output = sandbox.exec(&command).await.expect("output");
        sandbox.destroy(true).await;
        assert!(output.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.text()
    }

    /// True if the image holds a language.
    pub(crate) async fn speaks(&self, language: &palestra_workbench::code::language::Language) -> bool {
        let want = SandboxSpec::new(None, self.image, "code");
        let sandbox = self.workbench.sandboxes.take(&want).await.expect("a sandbox");
        let command = palestra_sandbox::Command::new(language.version.clone());
        let output = sandbox.exec(&command).await;
        sandbox.destroy(true).await;
        output.is_ok_and(|output| output.success())
    }

    pub(crate) async fn close(self) {
        self.workbench.sandboxes.close().await;
    }
}

/// The score that the checks make.
pub(crate) fn score(judgement: &Judgement) -> f64 {
    let weight: f64 = judgement.checks.iter().map(|check| check.weight).sum();
    judgement.checks.iter().map(|check| check.weight * check.score).sum::<f64>() / weight
}

/// The status of every test.
pub(crate) fn statuses(judgement: &Judgement) -> Vec<String> {
    let tests = judgement.checks.iter().filter(|check| check.name.starts_with("test "));
    tests.map(|Check { evidence, .. }| evidence.split([' ', ':']).next().unwrap_or_default().to_owned()).collect()
}
