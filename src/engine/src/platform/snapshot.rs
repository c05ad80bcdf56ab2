//! The startup snapshot as `celld-snapshot` embeds it.

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

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("bytes", &self.bytes.len())
            .field("residual_js", &self.residual_js.len())
            .field("residual_esm", &self.residual_esm.len())
            .finish()
    }
}
