//! Packs the documents: README.md, every page and picture below docs/, and the API document.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = manifest.ancestors().nth(2).unwrap_or(&manifest);
    let mut files = vec![root.join("README.md"), root.join("openapi/openapi.json")];
    gather(&root.join("docs"), &mut files)?;
    for watched in ["README.md", "openapi/openapi.json", "docs"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let texts = files.iter().map(|file| {
        let path = file.strip_prefix(root).unwrap_or(file).display().to_string();
        let is_text = file.extension().is_none_or(|kind| kind != "webp");
        Ok((path, if is_text { fs::read_to_string(file)? } else { STANDARD.encode(fs::read(file)?) }))
    });
    let texts: BTreeMap<String, String> = texts.collect::<io::Result<_>>()?;
    let pack = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("documents.json.lzma");
    fs::write(pack, palestra_pack::pack(&serde_json::to_vec(&texts)?)?)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.collect();
    let mut paths: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            gather(&path, files)?;
        } else if path.extension().is_some_and(|kind| kind == "md" || kind == "svg" || kind == "webp") {
            files.push(path);
        }
    }
    Ok(())
}
