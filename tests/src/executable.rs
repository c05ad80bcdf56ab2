//! Where the executable is, and a clean environment for it.

use std::path::PathBuf;
use std::process::Command;

/// `CELLD_BIN`, or the one that the same build made.
///
/// # Panics
/// When there is none.
pub fn executable() -> PathBuf {
    if let Some(path) = std::env::var_os("CELLD_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    // target/release/deps/TEST or target/release/PROGRAM
    let beside = test.ancestors().skip(1).take(2).map(|directory| directory.join("celld"));
    let path = beside.into_iter().find(|path| path.is_file()).unwrap_or_default();
    assert!(
        path.is_file(),
        "{} does not exist: build it (`cargo build --release`) or set CELLD_BIN",
        path.display()
    );
    path
}

/// The command, without any setting of the caller's environment but the path of esbuild, and without colour.
pub fn celld() -> Command {
    let mut command = Command::new(executable());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_setting = name.starts_with("CELLD_") || name.starts_with("AWS_") || name == "RUST_LOG";
        if is_setting && name != "CELLD_ESBUILD" {
            command.env_remove(name);
        }
    }
    command.env_remove("FORCE_COLOR").env("NO_COLOR", "1");
    command
}
