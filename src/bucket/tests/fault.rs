//! Unknown outcomes, resolved by reading, against what the bucket really holds; and the probe.

use std::time::Duration;

use bytes::Bytes;
use celld_bucket::{Bucket, Faults, Probe, WriteOutcome};

/// Runs `test` for each seed, all at the same time: most of it is waiting.
async fn each_seed<F: Future<Output = ()> + Send + 'static>(test: impl Fn(u64) -> F) {
    let tests: Vec<_> = (0..40).map(|seed| tokio::spawn(test(seed))).collect();
    for test in tests {
        test.await.unwrap();
    }
}

/// Many writers on one key through a bucket that loses requests and answers and carries writes out late: each write that is
/// reported done is in the history exactly once, and each one reported refused is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resolved_updates_count_exactly_once() {
    each_seed(|seed| async move {
        let bucket = Bucket::in_memory();
        assert!(bucket.create("history", Bytes::from("")).await.is_done());
        let faulty = bucket.with_faults(Faults {
            seed,
            jitter: Duration::from_millis(5),
            lost_request: 0.1,
            lost_response: 0.2,
            late: 0.1,
            late_by: Duration::from_millis(60),
            throttled: 0.1,
            ..Faults::default()
        });
        let writers: Vec<_> = (0..3).map(|writer| tokio::spawn(append(faulty.clone(), writer))).collect();
        let mut results = Vec::new();
        for writer in writers {
            results.extend(writer.await.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let history = bucket.get("history").await.unwrap().unwrap().bytes;
        let history = std::str::from_utf8(&history).unwrap();
        for (name, outcome) in results {
            let times = history.matches(name.as_str()).count();
            match outcome {
                WriteOutcome::Done(_) => assert_eq!(times, 1, "seed {seed}: {name} is done"),
                WriteOutcome::Refused | WriteOutcome::Failed(_) => {
                    assert_eq!(times, 0, "seed {seed}: {name}")
                }
                WriteOutcome::Unknown(_) => assert!(times <= 1, "seed {seed}: {name}"),
            }
        }
    })
    .await;
}

async fn append(bucket: Bucket, writer: u32) -> Vec<(String, WriteOutcome)> {
    let mut results = Vec::new();
    for i in 0..10 {
        let Ok(Some(object)) = bucket.get("history").await else { continue };
        let name = format!("{writer}.{i};");
        let bytes = Bytes::from([&object.bytes[..], name.as_bytes()].concat());
        results.push((name, bucket.update_resolved("history", bytes, &object.version).await));
    }
    results
}

/// As a log does it: each position has one winner, and nobody is told otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resolved_creates_have_one_winner() {
    each_seed(|seed| async move {
        let bucket = Bucket::in_memory();
        let faulty = bucket.with_faults(Faults {
            seed,
            jitter: Duration::from_millis(5),
            lost_request: 0.15,
            lost_response: 0.15,
            late: 0.15,
            late_by: Duration::from_millis(40),
            ..Faults::default()
        });
        for position in 0..5 {
            let key = format!("log/{position}");
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let (bucket, key) = (faulty.clone(), key.clone());
                    let bytes = Bytes::from(format!("writer {writer}"));
                    tokio::spawn(async move { bucket.create_resolved(&key, bytes).await })
                })
                .collect();
            let mut outcomes = Vec::new();
            for writer in writers {
                outcomes.push(writer.await.unwrap());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            let stands = bucket.get(&key).await.unwrap();
            for (writer, outcome) in outcomes.iter().enumerate() {
                let ours = stands.as_ref().is_some_and(|o| o.bytes == format!("writer {writer}").as_bytes());
                match outcome {
                    WriteOutcome::Done(_) => assert!(ours, "seed {seed}, {key}"),
                    WriteOutcome::Refused | WriteOutcome::Failed(_) => assert!(!ours, "seed {seed}, {key}"),
                    WriteOutcome::Unknown(_) => {}
                }
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_throttled_store_throttles_everybody_for_a_while() {
    let start = tokio::time::Instant::now();
    let faults = Faults {
        seed: 3,
        latency: Duration::from_millis(1),
        throttled: 0.01,
        throttled_for: Duration::from_millis(50),
        spared: &["deploy/"],
        ..Faults::default()
    };
    let bucket = Bucket::in_memory().with_faults(faults);
    let mut run = 0;
    let mut longest = 0;
    for i in 0..2000 {
        match bucket.create(&format!("a/{i}"), Bytes::new()).await {
            WriteOutcome::Done(_) => run = 0,
            WriteOutcome::Failed(error) if error.is_transient() => run += 1,
            other => panic!("{other:?}"),
        }
        longest = longest.max(run);
        assert!(bucket.create(&format!("deploy/{i}"), Bytes::new()).await.is_done());
    }
    assert!(longest >= 50, "{longest} in a row in {:?}", start.elapsed());
}

#[tokio::test]
async fn a_full_disk_is_certain_and_a_torn_write_is_not() {
    let full = Bucket::in_memory().with_faults(Faults { full: 1.0, ..Faults::default() });
    let WriteOutcome::Failed(error) = full.create("a", Bytes::from("ab")).await else { panic!() };
    assert!(error.may_pass() && !error.is_transient(), "{error}");
    assert!(full.get("a").await.unwrap().is_none());
    let bucket = Bucket::in_memory();
    let torn = bucket.with_faults(Faults { torn: 1.0, ..Faults::default() });
    assert!(torn.create("a", Bytes::from("abcd")).await.is_unknown());
    assert_eq!(bucket.get("a").await.unwrap().unwrap().bytes, "ab");
    assert!(matches!(torn.create_resolved("a", Bytes::from("abcd")).await, WriteOutcome::Unknown(_)));
}

#[tokio::test]
async fn good_stores_qualify_and_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    for bucket in [Bucket::in_memory(), Bucket::local(dir.path()).unwrap()] {
        assert!(matches!(bucket.probe().await, Probe::Qualified));
        assert!(bucket.list("", None, 9).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn an_outage_is_no_verdict_about_the_store() {
    let bucket = Bucket::in_memory().with_faults(Faults { lost_request: 1.0, ..Faults::default() });
    let Probe::Unreachable(error) = bucket.probe().await else { panic!() };
    assert!(error.to_string().contains("probe/"), "{error}");
}
