//! `build.command`: the user's own step before bundling.

use std::process::Stdio;

use tokio::process::Command;

use super::BundleError;
use crate::config::CustomBuild;

/// Runs the command with `sh -c` and waits for it; its output is shown only when it fails.
pub(super) async fn run(build: &CustomBuild) -> Result<(), BundleError> {
    let output = Command::new("sh")
        .arg("-c")
        .arg(&build.command)
        .current_dir(&build.cwd)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|source| BundleError::Start {
            program: format!("`{}` in {}", build.command, build.cwd.display()),
            source,
        })?;
    if output.status.success() {
        return Ok(());
    }
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(BundleError::Command { command: build.command.clone(), status: output.status, output: text })
}
