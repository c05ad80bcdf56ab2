//! One situation for each of the four rules: it ends well with the rule and loses data without it. `proof` looks for situations
//! that nobody has thought of; these stay when its random histories change.

use std::collections::HashSet;
use std::time::Duration;

use celld_bucket::{Bucket, Fate};
use celld_ltx::Txid;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::entry::EntryNo;
use crate::log::{LogOptions, Position, SessionLog};
use crate::proof::{Broken, expected, options, scope, session, transaction};
use crate::{keys, restore, seal, seal_session};

/// A session that has written something.
struct Situation {
    broken: Broken,
    bucket: Bucket,
    log: SessionLog,
    /// Position, cell and number of each transaction.
    appended: Vec<(Position, usize, u64)>,
}

impl Situation {
    /// A session whose calls to the store have these fates.
    async fn new(
        broken: Broken,
        script: impl Fn(&'static str, &str) -> Fate + Send + Sync + 'static,
    ) -> Situation {
        let bucket = Bucket::in_memory();
        let options = LogOptions {
            durability_timeout: Duration::from_secs(60),
            // Only the number of entries makes a fold.
            fold_interval: Duration::from_secs(3600),
            merge_bytes: 1 << 20,
            ..options(broken)
        };
        let log = SessionLog::start(bucket.with_fates(script), session("old.1"), options).await.unwrap();
        Situation { broken, bucket, log, appended: Vec::new() }
    }

    /// Appends the first transaction of `cell`, which becomes an entry of its own, and gives it a second.
    async fn append(&mut self, cell: usize) {
        let position = self.log.append(transaction(cell, 1));
        self.appended.push((position, cell, 1));
        sleep(Duration::from_secs(1)).await;
    }

    async fn stands(&self, number: u64) -> bool {
        let key = keys::log(&session("old.1"), EntryNo(number));
        self.bucket.get(&key).await.unwrap().is_some()
    }

    /// A successor takes over. Afterwards the session goes on until it notices. What has it acknowledged that is not there?
    async fn lost(self) -> Vec<usize> {
        let old = session("old.1");
        let tail = seal_session(&self.bucket, &old, &session("new.1")).await.unwrap();
        if self.broken == Broken::DeleteSeal {
            self.bucket.delete(&keys::log(&old, tail.seal)).await.unwrap();
        }
        let mut restored = HashSet::new();
        for &(_, cell, txid) in &self.appended {
            let found = restore(&self.bucket, &scope(cell)).await.unwrap();
            assert_eq!(found.image, expected(cell, found.txid.0));
            if found.txid >= Txid(txid) {
                restored.insert(cell);
            }
        }
        sleep(Duration::from_secs(100)).await;
        let durable = self.log.durable();
        let acknowledged = self.appended.iter().filter(|(position, ..)| *position <= durable);
        acknowledged.map(|(_, cell, _)| *cell).filter(|cell| !restored.contains(cell)).collect()
    }
}

/// Fates for the calls with one verb to one log object, and good ones for all others.
fn of_entry(
    verb: &'static str,
    number: u64,
    fate: impl Fn() -> Fate + Send + Sync + 'static,
) -> impl Fn(&'static str, &str) -> Fate + Send + Sync + 'static {
    let entry = keys::log(&session("old.1"), EntryNo(number));
    move |called, key| if called == verb && key == entry { fate() } else { Fate::Good }
}

#[tokio::test(start_paused = true)]
async fn rule_1_acknowledge_by_prefix_only() {
    for (broken, lost) in [(Broken::None, vec![]), (Broken::AckAnyOrder, vec![0, 1])] {
        // The first entry does not arrive, the second one does.
        let never = || Fate::Slow(Duration::from_secs(3600));
        let mut situation = Situation::new(broken, of_entry("create", 1, never)).await;
        situation.append(0).await;
        situation.append(1).await;
        assert!(!situation.stands(1).await && situation.stands(2).await);
        assert_eq!(situation.lost().await, lost, "{broken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_2_an_unknown_outcome_is_resolved_by_reading() {
    for (broken, lost) in [(Broken::None, vec![]), (Broken::AssumeDone, vec![1])] {
        let mut situation = Situation::new(broken, of_entry("create", 2, || Fate::LostRequest)).await;
        situation.append(0).await;
        situation.append(1).await;
        assert!(situation.stands(1).await && !situation.stands(2).await);
        assert_eq!(situation.lost().await, lost, "{broken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_2_holds_for_the_successor_too() {
    let late = Fate::Late(Duration::from_secs(5));
    for first in [Fate::LostRequest, Fate::LostResponse, late, Fate::Throttled] {
        let mut situation = Situation::new(Broken::None, |_, _| Fate::Good).await;
        for cell in 0..3 {
            situation.append(cell).await;
        }
        // The first write to each object has that fate: the claim, the seal, the history, each step of the record.
        let seen = Mutex::new(HashSet::new());
        let store = situation.bucket.with_fates(move |verb, key| {
            let writes = ["create", "update", "write", "delete"].contains(&verb);
            if writes && seen.lock().insert(key.to_owned()) { first } else { Fate::Good }
        });
        let mut tail = seal_session(&store, &session("old.1"), &session("new.1")).await;
        for _ in 0..10 {
            if tail.is_err() {
                tail = seal_session(&store, &session("old.1"), &session("new.1")).await;
            }
        }
        assert_eq!(tail.unwrap().seal, EntryNo(4), "{first:?}");
        assert_eq!(situation.lost().await, [0; 0], "{first:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_3_the_mark_is_raised_before_anything_is_deleted() {
    for (broken, lost) in [(Broken::None, vec![]), (Broken::DeleteBeforeMark, vec![4, 5])] {
        // The fold of four entries gets as far as the record, which it cannot change.
        let mut situation = Situation::new(broken, |verb, key| {
            if verb == "update" && key.starts_with("sessions/") { Fate::LostRequest } else { Fate::Good }
        })
        .await;
        for cell in 0..6 {
            situation.append(cell).await;
        }
        assert_eq!(situation.stands(1).await, broken == Broken::None);
        assert!(situation.stands(6).await);
        assert_eq!(situation.lost().await, lost, "{broken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_3_the_mark_stands_still_once_the_record_is_claimed() {
    for (broken, lost) in [(Broken::None, vec![]), (Broken::DeleteWhileClaimed, vec![4, 5])] {
        let mut situation = Situation::new(broken, |_, _| Fate::Good).await;
        // The successor has read the mark and is slow to walk.
        seal::claim(&situation.bucket, &session("old.1"), &session("new.1")).await.unwrap();
        for cell in 0..6 {
            situation.append(cell).await;
        }
        let failed = situation.log.failed().is_some();
        assert_eq!(failed, broken == Broken::None, "a session that was claimed ends");
        assert_eq!(situation.stands(1).await, broken == Broken::None);
        assert_eq!(situation.lost().await, lost, "{broken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_4_a_seal_is_never_deleted() {
    for (broken, lost) in [(Broken::None, vec![]), (Broken::DeleteSeal, vec![1])] {
        // The create of the second entry is under way for 20 s, and nobody can see what stands there for 30 s.
        let start = Instant::now();
        let create = of_entry("create", 2, || Fate::Late(Duration::from_secs(20)));
        let read = of_entry("read", 2, move || {
            if start.elapsed() < Duration::from_secs(30) { Fate::LostRequest } else { Fate::Good }
        });
        let mut situation = Situation::new(broken, move |verb, key| match create(verb, key) {
            Fate::Good => read(verb, key),
            fate => fate,
        })
        .await;
        situation.append(0).await;
        situation.append(1).await;
        assert!(!situation.stands(2).await);
        assert_eq!(situation.lost().await, lost, "{broken:?}");
    }
}
