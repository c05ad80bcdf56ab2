//! The startup snapshot as `celld-snapshot` embeds it.

use std::sync::OnceLock;

/// The snapshot of this process's isolates.
static OF_PROCESS: OnceLock<Snapshot> = OnceLock::new();

/// The snapshots to choose from.
#[derive(Debug, Clone, Copy)]
pub struct Snapshots {
    /// All Web and Workers globals. `node:` modules are evaluated by the isolate that imports them.
    pub plain: Snapshot,
    /// The same, and most `node:` modules evaluated.
    pub node: Snapshot,
}

impl Snapshots {
    /// The one that the isolates of this process start from. The first call chooses: a process has one, because V8 shares the
    /// read-only part of the heap among all isolates of a process, and each snapshot has its own. Either serves every Worker.
    pub fn of_process(&self, uses_node: impl FnOnce() -> bool) -> &'static Snapshot {
        OF_PROCESS.get_or_init(|| if uses_node() { self.node } else { self.plain })
    }
}

/// A V8 startup snapshot and the sources it left out, made by the build script of `celld-snapshot`.
///
/// Any number of isolates start from one snapshot; it is never written to.
#[derive(Clone, Copy)]
pub struct Snapshot {
    /// The snapshot in `deno_core`'s format: V8's blob and the module map.
    pub bytes: &'static [u8],
    /// Scripts not evaluated in the snapshot, as (specifier, wrapped source), sorted by specifier, ASCII.
    pub residual_js: &'static [(&'static str, &'static str)],
    /// ES modules not evaluated in the snapshot, as (specifier, source), sorted by specifier, ASCII.
    pub residual_esm: &'static [(&'static str, &'static str)],
}

impl Snapshot {
    /// Whether isolates of this process may start from this one; see [`Snapshots::of_process`].
    pub(super) fn is_of_process(&self) -> bool {
        std::ptr::eq(OF_PROCESS.get_or_init(|| *self).bytes, self.bytes)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("bytes", &self.bytes.len())
            .field("residual_js", &self.residual_js.len())
            .field("residual_esm", &self.residual_esm.len())
            .finish()
    }
}
