//! The crash harness: `kill -9` under load, at random moments and at named places of the code, with nothing left but the bucket, and
//! that one faulty; what was acknowledged must be there afterwards, every time.
//!
//! The seed chooses the moments; what runs at them is up to the machine.

mod integrity;
mod ledger;
mod worker;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Signal, kill_process};

use crate::{Dev, PATIENCE, Project, celld, eventually};
use ledger::{Clients, Ledger};

/// What to do.
#[derive(Debug, Clone)]
pub struct CrashOptions {
    /// How many crashes.
    pub rounds: u64,
    /// Chooses them.
    pub seed: u64,
    /// Answers wait for the proof that what they reveal is durable. Without it acknowledged writes get lost.
    pub gate: bool,
    /// Says each round on stderr.
    pub verbose: bool,
}

/// What happened, when nothing was lost.
#[derive(Debug, Default)]
pub struct CrashReport {
    /// How often the process was killed for which reason: at a fail point, or at a random moment.
    pub crashes: BTreeMap<String, u64>,
    /// Rounds in which the bucket was faulty.
    pub faulty: u64,
    /// Rounds after which all local files but the bucket's were deleted.
    pub erased: u64,
    /// Writes that were sent, and those that were acknowledged.
    pub sent: u64,
    /// Acknowledged writes, all of which were there at the end.
    pub acknowledged: u64,
    /// Cells whose databases, restored from the bucket, pass SQLite's integrity check.
    pub sound: usize,
}

/// SplitMix64, shared by all threads.
struct Random(AtomicU64);

impl Random {
    fn below(&self, bound: u64) -> u64 {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// How a round ends.
enum Crash {
    /// The supervisor and its node are killed after so many acknowledgements and so many milliseconds.
    Random(u64, u64),
    /// The node alone; the supervisor starts another one on the same listener.
    Node(u64),
    /// The node kills itself at this place, passed for the n-th time.
    Point(&'static str, u64),
    /// A clean stop, with a fail point on the way.
    Stop(&'static str),
}

/// The places of `celld_bucket::failpoint`, with the largest count worth waiting for and how often each is chosen: after SQLite's
/// commit, after the upload of an entry, after an object of a fold, after the folded mark was raised, after a merged object, after a
/// snapshot, after a seal, before a journal is removed whose entries are files.
const POINTS: [(&str, u64, u64); 8] = [
    ("commit", 200, 3),
    ("upload", 100, 3),
    ("fold", 60, 3),
    ("mark", 2, 1),
    ("compaction", 3, 2),
    ("snapshot", 2, 1),
    ("seal", 1, 1),
    ("settle", 1, 1),
];

/// Those of the points that are on the way of a fold, or after it.
const FOLDED: [&str; 4] = ["fold", "mark", "compaction", "snapshot"];

/// How long a fail point is waited for.
const POINT_PATIENCE: Duration = Duration::from_millis(1500);

impl Crash {
    fn choose(random: &Random) -> Crash {
        match random.below(10) {
            0..=2 => Crash::Random(random.below(80), random.below(40)),
            3 => Crash::Node(random.below(80)),
            4 => Crash::Stop(POINTS[random.below(POINTS.len() as u64) as usize].0),
            _ => {
                let mut ticket = random.below(POINTS.iter().map(|(_, _, weight)| weight).sum());
                for (name, most, weight) in POINTS {
                    if ticket < weight {
                        return Crash::Point(name, 1 + random.below(most));
                    }
                    ticket -= weight;
                }
                Crash::Random(1, 0)
            }
        }
    }

    fn point(&self) -> Option<String> {
        match self {
            Crash::Point(name, count) => Some(format!("{name}:{count}")),
            Crash::Stop(name) => Some((*name).to_owned()),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Crash::Random(..) => "at random",
            Crash::Node(_) => "the node alone",
            Crash::Point(name, _) | Crash::Stop(name) => name,
        }
    }
}

/// Crashes `rounds` times.
///
/// # Errors
/// The proof that something acknowledged was lost, or that a cell cannot be read, with the last words of the process.
pub fn crash(options: &CrashOptions) -> Result<CrashReport, String> {
    let random = Random(AtomicU64::new(options.seed));
    let project = Project::in_memory(&[("wrangler.jsonc", worker::CONFIG), ("src/index.js", worker::WORKER)]);
    let ledger = Ledger::new();
    let mut report = CrashReport::default();
    thread::scope(|scope| -> Result<(), String> {
        // However it ends, the clients end too.
        let clients = Clients::start(scope, &ledger, &random);
        for round in 1..=options.rounds {
            let crash = Crash::choose(&random);
            let (faulty, erase) = (random.below(2) == 0, random.below(2) == 0);
            let mut run = Run { project: &project, options, faulty: faulty.then(|| random.below(u64::MAX)) };
            let fired = run.round(&crash, &clients, &ledger)?;
            report.faulty += u64::from(faulty);
            let how = if fired { crash.name().to_owned() } else { format!("{}, not reached", crash.name()) };
            if erase {
                report.erased += 1;
                lose_all_but_the_bucket(&project);
            }
            if options.verbose {
                eprintln!(
                    "round {round}: {how}{}{}, {} acknowledged",
                    if faulty { ", faulty bucket" } else { "" },
                    if erase { ", local files deleted" } else { "" },
                    ledger.acknowledged()
                );
            }
            *report.crashes.entry(how).or_default() += 1;
        }
        let mut run = Run { project: &project, options, faulty: None };
        let mut dev = run.start(None);
        ledger.check(&mut dev)?;
        if !dev.stop().success() {
            return Err(format!("no clean stop at the end:\n{}", dev.log()));
        }
        lose_all_but_the_bucket(&project);
        let mut dev = run.start(None);
        ledger.check(&mut dev).map_err(|lost| format!("after a clean stop: {lost}"))?;
        dev.stop();
        Ok(())
    })?;
    report.sound = integrity::check(&project.file(".celld/dev/bucket"), "Counter")?;
    (report.sent, report.acknowledged) = (ledger.sent(), ledger.acknowledged());
    Ok(report)
}

/// One round's way of starting the program.
struct Run<'a> {
    project: &'a Project,
    options: &'a CrashOptions,
    /// The seed of the bucket's faults.
    faulty: Option<u64>,
}

impl Run<'_> {
    fn start(&mut self, point: Option<&str>) -> Dev {
        let mut command = celld();
        command.arg("dev").arg(self.project.path()).args(["--port", "0", "--no-live-reload"]);
        // Merges and snapshots come often enough to be met.
        command.env("CELLD_LTX_COMPACTION_MIN_TXIDS", "16");
        if !self.options.gate {
            command.env("CELLD_OUTPUT_GATE", "0");
        }
        if let Some(seed) = self.faulty {
            command.env("CELLD_TEST_FAULTS", seed.to_string());
        }
        if let Some(point) = point {
            command.env("CELLD_TEST_FAILPOINT", point);
            // These come after folds, of which a round has time for one otherwise.
            if FOLDED.contains(&point.split(':').next().unwrap_or_default()) {
                command.env("CELLD_TEST_FOLD_MS", "40");
            }
        }
        Dev::spawn(command)
    }

    /// Starts, verifies what earlier rounds have left, puts load on it and crashes. `false` when the fail point was not reached.
    fn round(&mut self, crash: &Crash, clients: &Clients<'_>, ledger: &Ledger) -> Result<bool, String> {
        let mut dev = self.start(crash.point().as_deref());
        let deadline = Instant::now() + PATIENCE;
        while !dev.is_announced() && !died_at_a_point(&dev) {
            if Instant::now() > deadline {
                return Err(format!("the application does not start:\n{}", dev.log()));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let checked =
            if died_at_a_point(&dev) { Ok(()) } else { ledger.check_unless(&mut dev, died_at_a_point) };
        checked?;
        if died_at_a_point(&dev) {
            // In the middle of taking over from the round before. It would die there again; what it has left must do.
            end(&mut dev);
            let mut dev = self.start(None);
            ledger.check(&mut dev)?;
            end(&mut dev);
            return Ok(true);
        }
        clients.aim(Some(dev.address()));
        let outcome = match crash {
            Crash::Random(acknowledged, milliseconds) => {
                ledger.wait(*acknowledged, &dev)?;
                thread::sleep(Duration::from_millis(*milliseconds));
                true
            }
            Crash::Node(acknowledged) => {
                ledger.wait(*acknowledged, &dev)?;
                // It may have ended by itself between the two.
                let _ = kill_process(dev.node(), Signal::KILL);
                // On the same listener, and with the clients still calling.
                ledger.wait(1, &dev)?;
                true
            }
            Crash::Point(..) => {
                let deadline = Instant::now() + POINT_PATIENCE;
                while !died_at_a_point(&dev) && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(2));
                }
                died_at_a_point(&dev)
            }
            Crash::Stop(_) => {
                // The place may be met long before the stop.
                let (enough, deadline) = (ledger.acknowledged() + 100, Instant::now() + PATIENCE);
                while !died_at_a_point(&dev) && ledger.acknowledged() < enough && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(2));
                }
                dev.signal(Signal::INT);
                dev.ended();
                died_at_a_point(&dev)
            }
        };
        // Requests that are on their way meet the crash; no more are sent to a port that may belong to somebody else then.
        clients.aim(None);
        end(&mut dev);
        Ok(outcome)
    }
}

fn died_at_a_point(dev: &Dev) -> bool {
    dev.log().contains("killed at the fail point")
}

/// Kills the supervisor, and with it the node.
fn end(dev: &mut Dev) {
    let _ = kill_process(dev.pid(), Signal::KILL);
    dev.ended();
}

fn lose_all_but_the_bucket(project: &Project) {
    // A process that was killed a moment ago may still write its last file.
    eventually("the local state is deleted", || {
        for entry in fs::read_dir(project.file(".celld/dev")).ok()? {
            let path = entry.ok()?.path();
            if path.is_dir() && !path.ends_with("bucket") {
                fs::remove_dir_all(path).ok()?;
            } else if path.is_file() {
                fs::remove_file(path).ok()?;
            }
        }
        Some(())
    });
}
