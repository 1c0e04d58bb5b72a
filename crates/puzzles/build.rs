//! Packs the words of ladders.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    for name in ["common", "further"] {
        let list = format!("src/search/word_ladder/{name}.txt");
        println!("cargo::rerun-if-changed={list}");
        let pack = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(format!("{name}.lzma"));
        fs::write(pack, palestra_pack::pack(&fs::read(list)?)?)?;
    }
    Ok(())
}
