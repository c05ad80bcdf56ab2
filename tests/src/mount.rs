//! A small file system of its own, for tests in which the disk is full.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A tmpfs, unmounted with this value.
#[derive(Debug)]
pub struct Mount(PathBuf);

impl Mount {
    /// Mounts one of `size` (`3m`) at `directory`. `None`, after a line that says so, where that is not possible: it takes root.
    pub fn new(directory: &Path, size: &str) -> Option<Mount> {
        let options = format!("size={size}");
        if mount(&["-t", "tmpfs", "-o", &options, "celld-test"], directory) {
            return Some(Mount(directory.to_owned()));
        }
        eprintln!("SKIPPED: only root can mount a small file system at {}", directory.display());
        None
    }

    /// Changes its size.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn resize(&self, size: &str) {
        assert!(mount(&["-o", &format!("remount,size={size}")], &self.0), "the file system can be resized");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a process that has a file open does not keep it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(arguments: &[&str], directory: &Path) -> bool {
    let output = Command::new("mount").args(arguments).arg(directory).output();
    output.is_ok_and(|output| output.status.success())
}
