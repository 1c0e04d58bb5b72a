//! From a container file to the steps of a layer: the part of its language that needs neither network nor other stages.

use std::collections::BTreeMap;

use palestra_sandbox::image::{Definition, StandIn};
use palestra_sandbox::shipped;

use super::dockerfile::{self, Instruction};
use super::{Folder, packages, provision, words};
use crate::checks::archive::fits;
use crate::checks::form::resolved;
use crate::terminal::row::{Scene, Step, StoredFile};
use crate::work::Fault;

/// Folders that every image has.
const FOLDERS: [&str; 16] = [
    "/",
    "/bin",
    "/etc",
    "/home",
    "/mnt",
    "/opt",
    "/root",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/var",
];

/// The image that stands in for those of Python.
const PYTHON: &str = "python";

/// Reads the container file of a folder; `context` is where its files are.
pub(super) fn scene(
    folder: &Folder<'_>,
    file: &str,
    context: &str,
    faults: &mut Vec<Fault>,
    notes: &mut Vec<String>,
) -> Scene {
    let text = match folder.text(file) {
        Ok(text) => text,
        Err(fault) => {
            faults.push(fault);
            return Scene::default();
        }
    };
    let instructions = match dockerfile::parse(text) {
        Ok(instructions) => instructions,
        Err((line, detail)) => {
            faults.push(folder.fault(&format!("{file}:{line}"), detail));
            return Scene::default();
        }
    };
    let mut build = Build {
        folder,
        file,
        context,
        scene: Scene { profile: "root".to_owned(), folder: "/".to_owned(), ..Scene::default() },
        arguments: BTreeMap::new(),
        inherited: inherited(),
        user: "root".to_owned(),
        shell: vec!["/bin/sh".to_owned(), "-c".to_owned()],
        begun: false,
        stand_in: None,
    };
    for instruction in &instructions {
        if let Err(detail) = build.add(instruction) {
            faults.push(folder.fault(&format!("{file}:{}", instruction.line), detail));
        }
    }
    if !build.begun {
        faults.push(folder.fault(file, "FROM is missing: add it"));
    }
    notes.extend(build.stand_in.as_ref().map(|words| folder.note(file, words)));
    if build.user != "root" {
        build.scene.user = Some(build.user);
    }
    build.scene.image = packages::image_with(folder.sandboxes.images(), &build.scene.image, &build.scene.layer);
    build.scene
}

/// The scene of an image that is named.
///
/// # Errors
/// In words, when none is here that can be used for it.
pub(super) fn named(folder: &Folder<'_>, base: &str) -> Result<Scene, String> {
    let mut scene = Scene { profile: "root".to_owned(), folder: "/".to_owned(), ..Scene::default() };
    begin(folder, base, &mut scene)?;
    Ok(scene)
}

/// Begins a scene on an image that stands in for a base image; the reason why it does, where it is not the image itself.
fn begin(folder: &Folder<'_>, base: &str, scene: &mut Scene) -> Result<String, String> {
    let images = folder.sandboxes.images();
    let StandIn { image, reason } = images.stand_in(base)?;
    if image == PYTHON {
        // pip installs beside the system's packages in the images that it stands in for.
        scene.env.entry("PIP_BREAK_SYSTEM_PACKAGES".to_owned()).or_insert_with(|| "1".to_owned());
    }
    scene.image = image;
    // What an image of the operator's sets is part of it; ours say what every sandbox has.
    if Definition::shipped_names().all(|name| name != scene.image)
        && let Ok(image) = images.resolve(&scene.image)
    {
        scene.env.extend(image.env.iter().cloned());
        scene.folder.clone_from(&image.folder);
    }
    Ok(reason)
}

/// Variables that every sandbox has.
fn inherited() -> BTreeMap<String, String> {
    let root = shipped::profiles().ok().and_then(|mut profiles| profiles.remove("root"));
    root.map(|profile| profile.env.value.iter().cloned().collect()).unwrap_or_default()
}

struct Build<'a> {
    folder: &'a Folder<'a>,
    file: &'a str,
    context: &'a str,
    scene: Scene,
    /// `ARG`s.
    arguments: BTreeMap<String, String>,
    /// Variables of the base image.
    inherited: BTreeMap<String, String>,
    user: String,
    shell: Vec<String>,
    begun: bool,
    /// Words about the image that stands in for the one that is named.
    stand_in: Option<String>,
}

impl Build<'_> {
    fn add(&mut self, instruction: &Instruction) -> Result<(), String> {
        let Instruction { name, rest, .. } = instruction;
        if !self.begun && !["FROM", "ARG"].contains(&name.as_str()) {
            return Err(format!("{name} stands before FROM: move it below"));
        }
        match name.as_str() {
            "FROM" => self.from(rest),
            "ARG" => self.argument(rest),
            "ENV" => self.env(rest),
            "WORKDIR" => {
                let path = resolved(&self.scene.folder, &self.expand(rest)?);
                self.scene.layer.push(Step::Folder { path: path.clone(), user: self.user.clone() });
                self.scene.folder = path;
                Ok(())
            }
            "COPY" | "ADD" => self.copy(instruction),
            "RUN" => self.run(instruction),
            "USER" => {
                self.user = self.expand(rest)?;
                Ok(())
            }
            "SHELL" => {
                let shell = dockerfile::list(rest).filter(|shell| !shell.is_empty());
                self.shell = shell.ok_or("SHELL must have a list in JSON")?;
                Ok(())
            }
            "LABEL" | "MAINTAINER" | "EXPOSE" | "CMD" | "ENTRYPOINT" | "STOPSIGNAL" | "HEALTHCHECK" | "VOLUME" => {
                Ok(())
            }
            "ONBUILD" => Err("ONBUILD is not supported: leave it out".to_owned()),
            other => Err(format!("{other} is no instruction: correct its name")),
        }
    }

    fn from(&mut self, rest: &str) -> Result<(), String> {
        if std::mem::replace(&mut self.begun, true) {
            return Err(
                "a second FROM: several stages take a Docker engine, which this server has not; put what is needed into one".to_owned()
            );
        }
        let words = words::split(rest)?;
        let base = match words.as_slice() {
            [base] => base,
            [base, keyword, _] if keyword.eq_ignore_ascii_case("as") => base,
            _ => return Err(format!("FROM {rest:?} must name an image")),
        };
        let base = self.expand(base)?;
        let reason = begin(self.folder, &base, &mut self.scene)?;
        self.stand_in =
            (!reason.is_empty()).then(|| format!("FROM {base}: the image {:?} stands in: {reason}", self.scene.image));
        if let Ok(image) = Definition::shipped(&self.scene.image) {
            self.inherited.extend(image.env);
        }
        // Arguments from before FROM are not seen after it.
        self.arguments.clear();
        Ok(())
    }

    fn argument(&mut self, rest: &str) -> Result<(), String> {
        for word in words::split(rest)? {
            let (name, value) =
                word.split_once('=').map_or((word.as_str(), String::new()), |(name, value)| (name, value.to_owned()));
            let value = self.expand(&value)?;
            self.arguments.insert(name.to_owned(), value);
        }
        Ok(())
    }

    fn env(&mut self, rest: &str) -> Result<(), String> {
        let words = words::split(rest)?;
        let first = words.first().ok_or("ENV must name a variable")?;
        if !first.contains('=') {
            // The old form: a name and all the rest.
            let value = rest.trim_start().strip_prefix(first.as_str()).unwrap_or_default().trim();
            let value = self.expand(value)?;
            self.scene.env.insert(first.clone(), value);
            return Ok(());
        }
        for word in &words {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("ENV {word:?} must have a ="))?;
            let value = self.expand(value)?;
            self.scene.env.insert(name.to_owned(), value);
        }
        Ok(())
    }

    fn copy(&mut self, instruction: &Instruction) -> Result<(), String> {
        let Instruction { name, options, rest, documents, .. } = instruction;
        if let Some(version) = uv_image(options) {
            return self.copy_uv(version, instruction);
        }
        let mut user = "root".to_owned();
        let mut mode = None;
        for (option, value) in options {
            match option.as_str() {
                "chown" => user = self.expand(value)?,
                "chmod" => {
                    let number =
                        u32::from_str_radix(value, 8).map_err(|_| format!("--chmod={value} must be a number"))?;
                    mode = Some(number);
                }
                "link" => {}
                "from" => {
                    return Err(
                        "--from: files of other stages or images take a Docker engine, which this server has not; add them to the folder".to_owned()
                    );
                }
                other => return Err(format!("--{other} is not supported: leave it out")),
            }
        }
        if !documents.is_empty() {
            return Err("here-documents are supported in RUN alone: write a file".to_owned());
        }
        let words = match dockerfile::list(rest) {
            Some(words) => words,
            None => words::split(rest)?,
        };
        let words: Result<Vec<String>, String> = words.iter().map(|word| self.expand(word)).collect();
        let words = words?;
        let [sources @ .., target] = words.as_slice() else { return Err(format!("{name} must name files")) };
        if sources.is_empty() {
            return Err(format!("{name} must have a target"));
        }
        let many = sources.len() > 1 || self.is_folder(target);
        let mut files = Vec::new();
        for source in sources {
            if name == "ADD" && source.contains("://") {
                return Err(format!(
                    "{source}: ADD of an address is not supported: fetch it by RUN, or add the file to the folder"
                ));
            }
            if name == "ADD"
                && [".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"].iter().any(|end| source.ends_with(end))
            {
                return Err(format!("{source}: ADD does not unpack archives here; use COPY and RUN tar"));
            }
            files.extend(self.found(source, target, many, mode)?);
        }
        self.scene.layer.push(Step::Files { files, user });
        Ok(())
    }

    /// Copies uv out of its own image: the same program is in the index of Python packages.
    fn copy_uv(&mut self, version: &str, instruction: &Instruction) -> Result<(), String> {
        let words = match dockerfile::list(&instruction.rest) {
            Some(words) => words,
            None => words::split(&instruction.rest)?,
        };
        let [sources @ .., target] = words.as_slice() else { return Err("COPY must name files".to_owned()) };
        if let Some(other) = sources.iter().find(|source| !["/uv", "/uvx"].contains(&source.as_str())) {
            return Err(format!(
                "{other:?} is not copied out of the image of uv here, correct the path: it must be /uv or /uvx"
            ));
        }
        let target = resolved(&self.scene.folder, &self.expand(target)?);
        let folder = match target.rsplit_once('/') {
            Some((folder, "uv" | "uvx")) => folder,
            _ => &target,
        };
        let place = self.line(instruction);
        self.scene.layer.extend(provision::uv_in(folder, version, &place));
        Ok(())
    }

    /// Where an instruction is written.
    fn line(&self, instruction: &Instruction) -> String {
        format!("{}:{}", self.folder.place(self.file), instruction.line)
    }

    /// True if a target is a folder: by its writing, or because it is known to be there.
    fn is_folder(&self, target: &str) -> bool {
        let place = resolved(&self.scene.folder, target);
        let below = format!("{place}/");
        let made = self.scene.layer.iter().any(|step| match step {
            Step::Folder { path, .. } => *path == place || path.starts_with(&below),
            Step::Files { files, .. } => files.iter().any(|file| file.path.starts_with(&below)),
            Step::Run { .. } | Step::Packages { .. } => false,
        });
        ["", ".", ".."].contains(&target.rsplit('/').next().unwrap_or(target))
            || made
            || FOLDERS.contains(&place.as_str())
    }

    /// The files that a source stands for, each where it goes.
    fn found(&self, source: &str, target: &str, many: bool, mode: Option<u32>) -> Result<Vec<StoredFile>, String> {
        let place = resolved(&self.scene.folder, target);
        let source = resolved("/", source);
        let source = source.trim_start_matches('/');
        let prefix = if self.context.is_empty() { String::new() } else { format!("{}/", self.context) };
        let mut files = Vec::new();
        for (name, file) in &self.folder.files {
            let Some(name) = name.strip_prefix(&prefix) else { continue };
            let to = if let Some(rest) = within(name, source) {
                format!("{place}/{rest}")
            } else {
                let Some(matched) = prefix_that_fits(name, source) else { continue };
                let last = matched.rsplit('/').next().unwrap_or(matched);
                match name.strip_prefix(matched).filter(|rest| !rest.is_empty()) {
                    Some(rest) => format!("{place}{rest}"),
                    None if many || source.contains(['*', '?']) => format!("{place}/{last}"),
                    None => place.clone(),
                }
            };
            files.push(StoredFile::of(resolved("/", &to), mode.unwrap_or(file.mode), &file.bytes));
        }
        if files.is_empty() {
            return Err(format!(
                "{source:?} is not among the files of {}: add it",
                if self.context.is_empty() { "." } else { self.context }
            ));
        }
        Ok(files)
    }

    fn run(&mut self, instruction: &Instruction) -> Result<(), String> {
        for (option, value) in &instruction.options {
            let cache = option == "mount" && (value.contains("type=cache") || value.contains("type=tmpfs"));
            if !cache && option != "network" {
                return Err(format!("--{option}={value} is not supported: leave it out"));
            }
        }
        let place = self.line(instruction);
        let mut env = self.scene.env.clone();
        for (name, value) in &self.arguments {
            env.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let (user, folder) = (self.user.clone(), self.scene.folder.clone());
        if let Some(argv) = dockerfile::list(&instruction.rest) {
            self.scene.layer.push(Step::Run { argv, user, folder, env, place });
            return Ok(());
        }
        let line = match instruction.documents.first() {
            Some(document) if instruction.rest.trim().starts_with("<<") => document.clone(),
            Some(_) => {
                let ends = instruction
                    .rest
                    .match_indices("<<")
                    .map(|(at, _)| instruction.rest[at + 2..].trim_matches(['-', '"', '\'']));
                let mut line = instruction.rest.clone();
                for (document, end) in instruction.documents.iter().zip(ends) {
                    let end = end
                        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
                        .next()
                        .unwrap_or(end);
                    line = format!("{line}\n{document}{end}");
                }
                line
            }
            None => instruction.rest.clone(),
        };
        let line = match provision::without_installer(&line) {
            Some((rest, version)) => {
                self.scene.layer.extend(provision::uv_in(provision::INSTALLED_IN, &version, &place));
                rest
            }
            None => line,
        };
        let (packages, left) = packages::installs(&line);
        for (kind, names) in packages {
            self.scene.layer.push(Step::Packages { names, kind, place: place.clone() });
        }
        if let Some(line) = left {
            let mut argv = self.shell.clone();
            argv.push(line);
            self.scene.layer.push(Step::Run { argv, user, folder, env, place });
        }
        Ok(())
    }

    fn expand(&self, text: &str) -> Result<String, String> {
        let mut variables = self.inherited.clone();
        variables.extend(self.arguments.clone());
        variables.extend(self.scene.env.clone());
        words::expand(text, &variables)
    }
}

/// The version of uv that files are copied from the image of, empty for the newest; `None` where it is another image.
fn uv_image(options: &[(String, String)]) -> Option<&str> {
    let (_, from) = options.iter().find(|(option, _)| option == "from")?;
    let rest = from.strip_prefix("ghcr.io/astral-sh/uv")?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix(':').map(|tag| tag.split('@').next().unwrap_or(tag)) }
}

/// The rest of a name below a folder; the folder `""` is the context itself.
fn within<'n>(name: &'n str, folder: &str) -> Option<&'n str> {
    if folder.is_empty() { Some(name) } else { name.strip_prefix(folder)?.strip_prefix('/') }
}

/// The first part of a name, whole path parts, that fits a pattern of as many parts.
fn prefix_that_fits<'n>(name: &'n str, pattern: &str) -> Option<&'n str> {
    let parts = pattern.split('/').count();
    let end = name.match_indices('/').nth(parts - 1).map_or(name.len(), |(at, _)| at);
    let head = &name[..end];
    let fits = head.split('/').count() == parts
        && head.split('/').zip(pattern.split('/')).all(|(part, pattern)| fits(part.as_bytes(), pattern.as_bytes()));
    fits.then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        assert_eq!(prefix_that_fits("src/a.py", "src/*.py"), Some("src/a.py"));
        assert_eq!(prefix_that_fits("data/x/y", "data*"), Some("data"));
        assert_eq!(prefix_that_fits("a.txt", "?.txt"), Some("a.txt"));
        assert_eq!(prefix_that_fits("a.txt", "b/*"), None);
    }
}
