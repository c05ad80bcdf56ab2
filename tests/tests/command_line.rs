//! The command line: exit codes, streams, settings, `init`.

use std::io::Read;
use std::process::Stdio;

use celld_tests::{Dev, celld};

#[test]
fn data_goes_to_stdout_and_messages_to_stderr() {
    for argument in ["--help", "-h", "--version"] {
        let output = celld().arg(argument).output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty() && !output.stdout.is_empty(),
            "{argument}"
        );
    }
    let help = String::from_utf8(celld().arg("--help").output().unwrap().stdout).unwrap();
    for name in ["CELLD_BUCKET", "CELLD_MAX_CELL_REQUESTS", "CELLD_LTX_PAGED_MIN_MB", "NO_COLOR"] {
        assert!(help.contains(name), "{name}");
    }
    let output = celld().arg("nonsense").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
}

#[test]
fn a_closed_pipe_is_a_successful_stop() {
    let mut child = celld().arg("--help").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
}

#[test]
fn an_invalid_setting_stops_the_start_and_names_itself() {
    for (name, value, allowed) in [
        ("CELLD_MAX_CELL_REQUESTS", "0", "from 1 to"),
        ("CELLD_OUTPUT_GATE", "yes", "0 or 1"),
        ("CELLD_ADDR", "here", "IP:PORT"),
        ("CELLD_DURABILITY", "none", "fleet or bucket"),
    ] {
        let output = celld().args(["--bucket", "s3://b"]).env(name, value).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(name) && error.contains(value) && error.contains(allowed), "{error}");
    }
    let output = celld().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("CELLD_BUCKET"));
}

#[test]
fn a_new_project_runs_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let project = parent.path().join("first");
    let init = || celld().arg("init").arg(&project).output().unwrap();
    let output = init();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(Dev::ready(&project, &[]).get("/").status, 200);
    let again = init();
    assert_eq!(again.status.code(), Some(1), "nothing is overwritten");
}
