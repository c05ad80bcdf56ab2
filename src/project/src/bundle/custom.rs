//! `build.command`: the user's own step before bundling.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::BundleError;
use crate::config::CustomBuild;

/// Runs the command with `sh -c` and waits for it; its output is shown only when it fails.
pub(super) async fn run(build: &CustomBuild) -> Result<(), BundleError> {
    let child = Command::new("sh")
        .arg("-c")
        .arg(&build.command)
        .current_dir(&build.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| start_error(build, source))?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let output = child.wait_with_output().await.map_err(|source| start_error(build, source))?;
    group.0 = None;
    if output.status.success() {
        return Ok(());
    }
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(BundleError::Command { command: build.command.clone(), status: output.status, output: text })
}

fn start_error(build: &CustomBuild, source: std::io::Error) -> BundleError {
    BundleError::Start { program: format!("`{}` in {}", build.command, build.cwd.display()), source }
}

/// The shell and whatever it started. Ended when dropped, so that an abandoned build leaves no process behind.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // An error means that the group is gone already.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
