//! What a directory bucket says when the disk or the directory is at fault. A message names the file and the cause.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, WriteOutcome};

/// A file system of its own, of 1 MiB, which goes away with this value. Needs root.
struct Mount(tempfile::TempDir);

impl Mount {
    /// `None` after a line about it that no test runner hides, when nothing can be mounted here.
    fn new(test: &str) -> Option<Mount> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", "size=1m", "celld-test"], dir.path());
        if !mounted {
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: only root can mount a small file system");
            return None;
        }
        Some(Mount(dir))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("bucket")
    }

    fn remount(&self, mode: &str) {
        assert!(mount(&["-o", &format!("remount,{mode}")], self.0.path()));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: an open bucket does not keep the directory busy.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn mount(args: &[&str], dir: &Path) -> bool {
    Command::new("mount").args(args).arg(dir).output().is_ok_and(|output| output.status.success())
}

fn failed(outcome: WriteOutcome) -> String {
    match outcome {
        WriteOutcome::Failed(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn assert_names(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[tokio::test]
async fn a_full_disk_refuses_the_write_and_keeps_the_rest() {
    let Some(mount) = Mount::new("a_full_disk_refuses_the_write_and_keeps_the_rest") else { return };
    let bucket = Bucket::local(mount.path()).unwrap();
    let version = bucket.create("small", Bytes::from("before")).await.done().unwrap();
    let large = Bytes::from(vec![7; 2 << 20]);
    let root = mount.path().display().to_string();
    let text = failed(bucket.create("large", large.clone()).await);
    assert_names(&text, &["cannot create large in", &root, "No space left on device"]);
    let text = failed(bucket.update("small", large.clone(), &version).await);
    assert_names(&text, &["cannot update small in", "No space left on device"]);
    let text = bucket.put("small", large).await.unwrap_err().to_string();
    assert_names(&text, &["cannot write small in", "No space left on device"]);
    assert!(bucket.get("large").await.unwrap().is_none());
    assert_eq!(bucket.get("small").await.unwrap().unwrap().bytes, "before");
    // What did not fit takes no room: the bucket works at once.
    assert!(bucket.update("small", Bytes::from(vec![1; 100_000]), &version).await.is_done());
}

/// The disk is full when a journal gets its first object, and when it is to be taken apart.
#[tokio::test]
async fn a_journal_on_a_full_disk_loses_nothing() {
    let Some(mount) = Mount::new("a_journal_on_a_full_disk_loses_nothing") else { return };
    let bucket = Bucket::local(mount.path()).unwrap();
    let other = Bucket::local(mount.path()).unwrap();
    assert!(bucket.begin_journal("log/s").await.unwrap());
    let filler = mount.path().join("filler");
    let fill = || {
        let mut file = fs::File::create(&filler).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    };
    fill();
    let text = failed(bucket.create("log/s/1", Bytes::from("one")).await);
    assert_names(&text, &["cannot create log/s/1 in", "No space left on device"]);
    assert!(bucket.get("log/s/1").await.unwrap().is_none());
    fs::remove_file(&filler).unwrap();
    for i in 1..=3 {
        assert!(bucket.create(&format!("log/s/{i}"), Bytes::from("text")).await.is_done());
    }
    for bucket in [&bucket, &other] {
        assert_eq!(bucket.list("log", None, 9).await.unwrap().len(), 3);
    }
    fill();
    let text = failed(other.create("log/s/4", Bytes::from("seal")).await);
    assert_names(&text, &["cannot create log/s/4 in", "No space left on device"]);
    for bucket in [&bucket, &other] {
        assert_eq!(bucket.list("", None, 9).await.unwrap().len(), 3);
        assert_eq!(bucket.get("log/s/2").await.unwrap().unwrap().bytes, "text");
        assert!(bucket.get("log/s/4").await.unwrap().is_none());
    }
    fs::remove_file(&filler).unwrap();
    assert!(other.create("log/s/4", Bytes::from("seal")).await.is_done());
    assert!(matches!(bucket.create("log/s/4", Bytes::from("late")).await, WriteOutcome::Refused));
    assert_eq!(bucket.list("log/s", None, 9).await.unwrap().len(), 4);
}

/// As a log meets it: small objects until there is no room. Each is there whole or not at all, and never in doubt.
#[tokio::test]
async fn what_does_not_fit_is_certainly_not_there() {
    let Some(mount) = Mount::new("what_does_not_fit_is_certainly_not_there") else { return };
    let bucket = Bucket::local(mount.path()).unwrap();
    let content = |i: usize| Bytes::from(vec![i as u8; 3_000 + 1_000 * (i % 5)]);
    let mut refused = 0;
    for i in 0..400 {
        // Some need a new directory, which a full disk refuses too.
        let key = format!("log/{}/{i}", i / 50);
        match bucket.create(&key, content(i)).await {
            WriteOutcome::Done(_) => assert_eq!(bucket.get(&key).await.unwrap().unwrap().bytes, content(i)),
            WriteOutcome::Failed(error) => {
                assert!(matches!(error, BucketError::Io { .. }) && error.may_pass(), "{error:?}");
                assert!(bucket.get(&key).await.unwrap().is_none());
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(refused > 50, "the disk was never full");
    assert_eq!(bucket.list("log", None, 1000).await.unwrap().len(), 400 - refused);
    assert_eq!(fs::read_dir(mount.path().join("tmp")).unwrap().count(), 0);
    for i in 0..20 {
        bucket.delete(&format!("log/0/{i}")).await.unwrap();
    }
    assert!(bucket.create("log/0/0", content(0)).await.is_done(), "there is room again");
}

#[tokio::test]
async fn a_read_only_directory_is_named_and_works_when_it_is_not() {
    let test = "a_read_only_directory_is_named_and_works_when_it_is_not";
    let Some(mount) = Mount::new(test) else { return };
    let bucket = Bucket::local(mount.path()).unwrap();
    assert!(bucket.create("k", Bytes::from("v")).await.is_done());
    // Only a directory that nobody writes to can be made read-only.
    drop(bucket);
    mount.remount("ro");
    let new = mount.0.path().join("new");
    for path in [mount.path(), new] {
        let text = Bucket::local(&path).unwrap_err().to_string();
        assert_names(&text, &["cannot open", path.to_str().unwrap(), "Read-only file system"]);
    }
    mount.remount("rw");
    let bucket = Bucket::local(mount.path()).unwrap();
    assert_eq!(bucket.get("k").await.unwrap().unwrap().bytes, "v");
    assert!(bucket.create("new", Bytes::new()).await.is_done());
}

#[tokio::test]
async fn what_is_no_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let text = Bucket::local(&file).unwrap_err().to_string();
    assert_names(&text, &[file.to_str().unwrap(), "is no bucket", "not a directory"]);
    let below = file.join("bucket");
    let text = Bucket::local(&below).unwrap_err().to_string();
    assert_names(&text, &["cannot open", below.to_str().unwrap(), "Not a directory"]);
}

#[tokio::test]
async fn a_missing_directory_is_made_with_its_parents() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/c");
    let bucket = Bucket::local(&path).unwrap();
    assert!(bucket.create("k", Bytes::from("v")).await.is_done());
    assert_eq!(Bucket::local(&path).unwrap().get("k").await.unwrap().unwrap().bytes, "v");
}

/// The directory is removed or replaced while it is in use: nothing written after that may be called done, because nobody
/// would find it.
#[tokio::test]
async fn a_directory_that_is_removed_in_use_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bucket");
    let bucket = Bucket::local(&path).unwrap();
    let version = bucket.create("d/k", Bytes::from("v")).await.done().unwrap();
    fs::remove_dir_all(&path).unwrap();
    for outcome in [
        bucket.create("new", Bytes::new()).await,
        bucket.create("d/new", Bytes::new()).await,
        bucket.update("d/k", Bytes::new(), &version).await,
    ] {
        assert!(!outcome.is_done(), "{outcome:?}");
        if let WriteOutcome::Failed(error) | WriteOutcome::Unknown(error) = outcome {
            assert!(matches!(error, BucketError::NotABucket { .. }), "{error:?}");
            assert_names(&error.to_string(), &[path.to_str().unwrap(), "removed while it was in use"]);
        }
    }
}
