//! Builds the agent as a static program, which the library embeds packed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const PACKAGE: &str = "palestra-sandbox-agent";
/// Variables of this package's build that the agent's must not inherit: other flags, and wrappers such as those of lints.
const NOT_INHERITED: [&str; 7] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_MAKEFLAGS",
];

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = manifest.ancestors().nth(2).unwrap_or(&manifest);
    for watched in
        ["crates/sandbox-agent/src", "crates/sandbox-agent/Cargo.toml", "Cargo.lock", "crates/sandbox/build.rs"]
    {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let target = env::var("TARGET").unwrap_or_default();
    let folder = target_folder().join("agent");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    for name in NOT_INHERITED {
        cargo.env_remove(name);
    }
    cargo
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        // With a target of its own, flags are not given to build scripts; and a folder of its own has a lock of its own.
        .args(["build", "--locked", "--profile", "agent", "--package", PACKAGE, "--bin", PACKAGE, "--target", &target])
        .arg("--target-dir")
        .arg(&folder);
    let status = cargo.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the agent for sandboxes was not built: {status}")));
    }
    let program = folder.join(&target).join("agent").join(PACKAGE);
    let packed = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("agent.lzma");
    fs::write(packed, palestra_pack::pack(&fs::read(program)?)?)
}

/// The folder of this build, which is some levels above the one of this script.
fn target_folder() -> PathBuf {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // <target>/<profile>/build/<package>/out, with the triple between where one was asked for.
    let profile = out.ancestors().nth(3).unwrap_or(&out);
    profile.parent().map_or_else(|| out.clone(), Path::to_path_buf)
}
