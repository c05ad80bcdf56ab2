//! V8's bytecode of modules, kept for the life of the process so that the second isolate of a
//! deployment does not compile what the first one has compiled.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use deno_core::SourceCodeCacheInfo;
use parking_lot::Mutex;

/// Bytecode by module. V8 checks only the length of a source against its cache, so the hash here
/// covers the whole text.
#[derive(Debug, Default)]
pub struct CodeCache {
    entries: Mutex<HashMap<String, Entry>>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    code: Arc<[u8]>,
}

impl CodeCache {
    /// What `deno_core` wants to know of the module `specifier` with this source.
    pub fn info(&self, specifier: &str, source: &[u8]) -> SourceCodeCacheInfo {
        let mut hasher = DefaultHasher::new();
        source.hash(&mut hasher);
        let hash = hasher.finish();
        let known =
            self.entries.lock().get(specifier).filter(|entry| entry.hash == hash).map(|e| e.code.clone());
        SourceCodeCacheInfo { hash, data: known.map(|code| Cow::Owned(code.to_vec())) }
    }

    /// Keeps the bytecode of a module whose source hashes to `hash`.
    pub fn insert(&self, specifier: &str, hash: u64, code: &[u8]) {
        self.entries.lock().insert(specifier.to_owned(), Entry { hash, code: code.into() });
    }

    /// Forgets a module whose bytecode V8 rejected.
    pub fn remove(&self, specifier: &str) {
        self.entries.lock().remove(specifier);
    }
}
