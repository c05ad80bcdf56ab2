//! A bucket that misbehaves as real ones do, for tests. Seeded: the same seed and the same sequence of calls give the same
//! faults (calls made at the same time are numbered in the order in which they arrive).

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::fault_upload::FaultUpload;
use crate::store::Store;
use crate::upload::Pieces;
use crate::{At, Bucket, BucketError, Listed, Object, Suffix, Version, WriteOutcome};

/// Which faults, and how often: probabilities from 0 to 1, each for one call. The default has none.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// The first number of the random sequence.
    pub seed: u64,
    /// Every call takes at least this long …
    pub latency: Duration,
    /// … and up to this much longer, which lets calls that were started in one order finish in another.
    pub jitter: Duration,
    /// The call fails with a lost connection and has had no effect.
    pub lost_request: f64,
    /// The call has had its effect and its answer is lost.
    pub lost_response: f64,
    /// The answer to a write is lost and the write is carried out only later, after other calls (`late_by`).
    pub late: f64,
    /// How much later.
    pub late_by: Duration,
    /// The store asks to slow down; no effect.
    pub throttled: f64,
    /// So long after a call was throttled every other call is too.
    pub throttled_for: Duration,
    /// The call takes `tail_by` longer than others: the heavy tail of a store.
    pub tail: f64,
    /// How much longer.
    pub tail_by: Duration,
    /// The disk is full: the write fails and has had no effect.
    pub full: f64,
    /// Half of what a write carries is stored, and its answer is lost. No good store does that; what reads it must notice.
    pub torn: f64,
    /// Keys that begin with one of these meet no fault.
    pub spared: &'static [&'static str],
}

impl Faults {
    /// A store on a bad day, for a whole process: a few per cent of everything that celld must cope with for good. What is
    /// deployed is spared: a developer's command may fail where a node must not.
    pub fn rough(seed: u64) -> Faults {
        Faults {
            // Each life of a process draws other numbers.
            seed: seed ^ (u64::from(std::process::id()) << 32),
            jitter: Duration::from_millis(4),
            lost_request: 0.02,
            lost_response: 0.02,
            late: 0.02,
            late_by: Duration::from_millis(300),
            throttled: 0.01,
            throttled_for: Duration::from_millis(20),
            tail: 0.01,
            tail_by: Duration::from_millis(200),
            spared: &["deploy", "modules", "nodes"],
            ..Faults::default()
        }
    }
}

/// What happens to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Good,
    /// The same, only later.
    Slow(Duration),
    /// It fails with a lost connection and has had no effect.
    LostRequest,
    /// It has had its effect and its answer is lost.
    LostResponse,
    /// The answer to a write is lost and the write is carried out only so much later, after other calls.
    Late(Duration),
    /// The store asks to slow down; no effect.
    Throttled,
    /// The disk is full: a write fails and has had no effect. A read is carried out.
    Full,
    /// Half of what a write carries is stored, and its answer is lost. A read loses its answer.
    Torn,
}

/// Decides about a call from its verb (`read`, `list`, `create`, `update`, `write`, `delete`) and its key or prefix.
type Script = dyn Fn(&'static str, &str) -> Fate + Send + Sync;

enum Plan {
    /// Drawn from the state of the random sequence.
    Random(Faults, Mutex<Random>),
    Script(Box<Script>),
}

struct Random {
    state: u64,
    throttled_until: Option<Instant>,
}

struct FaultStore {
    inner: Arc<dyn Store>,
    plan: Plan,
}

impl Bucket {
    /// This bucket behind faults. The bucket itself stays as it is, for looking at what was really written.
    pub fn with_faults(&self, faults: Faults) -> Bucket {
        let random = Mutex::new(Random { state: faults.seed, throttled_until: None });
        Bucket(Arc::new(FaultStore { inner: self.0.clone(), plan: Plan::Random(faults, random) }))
    }

    /// The same with a fate for each call, for a test of one situation. `script` is asked when a call starts, with its verb
    /// (`read`, `list`, `create`, `update`, `write`, `delete`) and its key or prefix.
    pub fn with_fates(&self, script: impl Fn(&'static str, &str) -> Fate + Send + Sync + 'static) -> Bucket {
        Bucket(Arc::new(FaultStore { inner: self.0.clone(), plan: Plan::Script(Box::new(script)) }))
    }
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number from 0 up to but not including 1.
fn unit(state: &mut u64) -> f64 {
    (next(state) >> 11) as f64 / (1u64 << 53) as f64
}

/// Draws a call's delay and its fate. Every call to one store draws the same number of numbers.
fn draw(faults: &Faults, state: &mut u64) -> (Duration, Fate) {
    let (chance, delay) = (unit(state), unit(state));
    let mut delay = faults.latency + faults.jitter.mul_f64(delay);
    if faults.tail > 0.0 && unit(state) < faults.tail {
        delay += faults.tail_by;
    }
    let mut bound = 0.0;
    for (fate, probability) in [
        (Fate::LostRequest, faults.lost_request),
        (Fate::LostResponse, faults.lost_response),
        (Fate::Late(faults.late_by), faults.late),
        (Fate::Throttled, faults.throttled),
        (Fate::Full, faults.full),
        (Fate::Torn, faults.torn),
    ] {
        bound += probability;
        if chance < bound {
            return (delay, fate);
        }
    }
    (delay, Fate::Good)
}

impl Random {
    fn draw(&mut self, faults: &Faults, key: &str) -> (Duration, Fate) {
        let (delay, fate) = draw(faults, &mut self.state);
        if faults.spared.iter().any(|spared| key.starts_with(spared)) {
            return (Duration::ZERO, Fate::Good);
        }
        let now = Instant::now();
        if fate == Fate::Throttled {
            self.throttled_until = Some(now + faults.throttled_for);
        } else if self.throttled_until.is_some_and(|until| now < until) {
            return (delay, Fate::Throttled);
        }
        (delay, fate)
    }
}

impl FaultStore {
    /// Finds a call's fate and lets its time pass.
    async fn fate(&self, verb: &'static str, key: &str) -> Fate {
        let (delay, fate) = match &self.plan {
            Plan::Random(faults, random) => random.lock().draw(faults, key),
            Plan::Script(script) => match script(verb, key) {
                Fate::Slow(delay) => (delay, Fate::Good),
                fate => (Duration::ZERO, fate),
            },
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        fate
    }

    fn at(&self, verb: &'static str, key: &str) -> At {
        At { verb, key: key.into(), bucket: self.inner.name().clone() }
    }

    fn lost(&self, verb: &'static str, key: &str) -> BucketError {
        BucketError::Unavailable { at: self.at(verb, key), detail: "injected: no answer".into() }
    }

    fn throttled(&self, verb: &'static str, key: &str) -> BucketError {
        BucketError::Throttled { at: self.at(verb, key), detail: "injected: 503".into() }
    }

    fn full(&self, verb: &'static str, key: &str) -> BucketError {
        let source = Arc::new(std::io::ErrorKind::StorageFull.into());
        BucketError::Io { at: self.at(verb, key), path: key.into(), source }
    }

    /// A call that only reads: an answer that is lost is as good as a request that is.
    async fn read<T>(
        &self,
        verb: &'static str,
        key: &str,
        call: impl Future<Output = Result<T, BucketError>>,
    ) -> Result<T, BucketError> {
        match self.fate(verb, key).await {
            Fate::Good | Fate::Slow(_) | Fate::Full => call.await,
            Fate::Throttled => Err(self.throttled(verb, key)),
            _ => Err(self.lost(verb, key)),
        }
    }

    /// `call` writes these bytes; it may outlive this call.
    async fn write<W: Future<Output = WriteOutcome> + Send + 'static>(
        &self,
        verb: &'static str,
        key: &str,
        bytes: Bytes,
        call: impl FnOnce(Bytes) -> W,
    ) -> WriteOutcome {
        let fate = self.fate(verb, key).await;
        let call = call(if fate == Fate::Torn { bytes.slice(..bytes.len() / 2) } else { bytes });
        match fate {
            Fate::Good | Fate::Slow(_) => call.await,
            Fate::LostRequest => WriteOutcome::Unknown(self.lost(verb, key)),
            Fate::LostResponse | Fate::Torn => match call.await {
                // A failure that the store did not even try leaves no doubt, whoever hears of it.
                WriteOutcome::Failed(error) => WriteOutcome::Failed(error),
                _ => WriteOutcome::Unknown(self.lost(verb, key)),
            },
            Fate::Late(late_by) => {
                tokio::spawn(async move {
                    tokio::time::sleep(late_by).await;
                    call.await
                });
                WriteOutcome::Unknown(self.lost(verb, key))
            }
            Fate::Throttled => WriteOutcome::Failed(self.throttled(verb, key)),
            Fate::Full => WriteOutcome::Failed(self.full(verb, key)),
        }
    }
}

#[async_trait]
impl Store for FaultStore {
    fn name(&self) -> &Arc<str> {
        self.inner.name()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        self.read("read", key, self.inner.get(key)).await
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, BucketError> {
        self.read("read", key, self.inner.get_range(key, range)).await
    }

    async fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, BucketError> {
        self.read("read", key, self.inner.get_suffix(key, n)).await
    }

    async fn create(&self, key: &str, bytes: Bytes) -> WriteOutcome {
        let (inner, owned) = (self.inner.clone(), key.to_owned());
        let call = |bytes| async move { inner.create(&owned, bytes).await };
        self.write("create", key, bytes, call).await
    }

    async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome {
        let (inner, owned, version) = (self.inner.clone(), key.to_owned(), version.clone());
        let call = |bytes| async move { inner.update(&owned, bytes, &version).await };
        self.write("update", key, bytes, call).await
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError> {
        let (inner, owned) = (self.inner.clone(), key.to_owned());
        let call = |bytes| async move {
            match inner.put(&owned, bytes).await {
                Ok(version) => WriteOutcome::Done(version),
                Err(error) => WriteOutcome::Failed(error),
            }
        };
        match self.write("write", key, bytes, call).await {
            WriteOutcome::Done(version) => Ok(version),
            WriteOutcome::Unknown(error) | WriteOutcome::Failed(error) => Err(error),
            WriteOutcome::Refused => Err(self.lost("write", key)),
        }
    }

    async fn upload(&self, key: &str) -> Result<Box<dyn Pieces>, BucketError> {
        let fate = self.fate("write", key).await;
        let error = match fate {
            Fate::Throttled => self.throttled("write", key),
            Fate::Full => self.full("write", key),
            _ => self.lost("write", key),
        };
        Ok(Box::new(FaultUpload::new(self.inner.upload(key).await?, fate, error)))
    }

    async fn delete(&self, key: &str) -> Result<(), BucketError> {
        match self.fate("delete", key).await {
            Fate::Good | Fate::Slow(_) | Fate::Full => self.inner.delete(key).await,
            Fate::LostRequest => Err(self.lost("delete", key)),
            Fate::Throttled => Err(self.throttled("delete", key)),
            Fate::LostResponse | Fate::Late(_) | Fate::Torn => {
                self.inner.delete(key).await?;
                Err(self.lost("delete", key))
            }
        }
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, BucketError> {
        self.read("list", prefix, self.inner.list(prefix, after, limit)).await
    }

    async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        self.read("list", prefix, self.inner.list_dirs(prefix)).await
    }
}
