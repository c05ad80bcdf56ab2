//! The crash harness from the command line; `tests/crash` starts it.

use std::process::ExitCode;

use celld_tests::{CrashOptions, crash};

const USAGE: &str = "usage: tests/crash [--rounds N] [--seed S] [--no-gate] [--quiet]

Crashes celld N times (default: 200) under load and checks after each crash that no acknowledged write is lost and every
cell can be read. --no-gate turns the output gate off, to see writes being lost.";

fn main() -> ExitCode {
    let mut options = CrashOptions { rounds: 200, seed: 1, gate: true, verbose: true };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse().ok());
        let understood = match argument.as_str() {
            "--rounds" => number().map(|rounds| options.rounds = rounds).is_some(),
            "--seed" => number().map(|seed| options.seed = seed).is_some(),
            "--no-gate" => {
                options.gate = false;
                true
            }
            "--quiet" => {
                options.verbose = false;
                true
            }
            _ => false,
        };
        if !understood {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    match crash(&options) {
        Ok(report) => {
            println!("{report:#?}");
            ExitCode::SUCCESS
        }
        Err(lost) => {
            eprintln!("seed {}: {lost}", options.seed);
            ExitCode::FAILURE
        }
    }
}
