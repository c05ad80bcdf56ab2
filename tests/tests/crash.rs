//! A short run of the crash harness, and that it can fail. `tests/crash` runs longer ones.

use celld_tests::{CrashOptions, crash};

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let options = CrashOptions { rounds: 24, seed: 1, gate: true, verbose: false };
    match crash(&options) {
        Ok(report) => println!("{report:#?}"),
        Err(lost) => panic!("seed {}: {lost}", options.seed),
    }
}

#[test]
fn without_the_output_gate_the_harness_sees_writes_lost() {
    let options = CrashOptions { rounds: 40, seed: 1, gate: false, verbose: false };
    let lost = crash(&options).expect_err("answers that wait for nothing are lost in a crash");
    assert!(lost.contains("acknowledged") || lost.contains("twice"), "{lost}");
}
