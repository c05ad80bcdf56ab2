//! The entries, and which of them goes when room is needed.

use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

use bytes::Bytes;
use parking_lot::Mutex;

use super::{Fields, field, freshness};

/// What an entry costs beyond its body and headers, in bytes: a rough figure for the maps.
const OVERHEAD: usize = 256;

/// Responses of one process. The least recently used go first when there are too many bytes.
#[derive(Debug)]
pub struct CacheStore {
    capacity: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The variants of each URL in each cache.
    entries: HashMap<Key, Vec<Entry>>,
    /// Which entry was used when: the first is the next to go.
    uses: BTreeMap<u64, Key>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    cache: String,
    url: String,
}

#[derive(Debug)]
struct Entry {
    /// The request's fields that the response depends on (`Vary`).
    vary: Vec<(String, Option<String>)>,
    response: Stored,
    until: SystemTime,
    bytes: usize,
    used: u64,
}

/// A stored response.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub status: u16,
    pub headers: Fields,
    pub body: Bytes,
}

impl CacheStore {
    /// A store of at most `capacity` bytes; with 0 it holds nothing.
    pub fn new(capacity: usize) -> CacheStore {
        CacheStore { capacity, inner: Mutex::default() }
    }

    /// The largest body that could be stored.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Stores the response to a GET request, when it may be stored and fits.
    pub(super) fn put(
        &self,
        cache: &str,
        url: &str,
        request: &Fields,
        mut response: Stored,
        now: SystemTime,
    ) {
        let key = Key { cache: cache.to_owned(), url: url.to_owned() };
        let lifetime = freshness::lifetime(request, response.status, &mut response.headers, now);
        let vary = varying(request, &response.headers);
        let headers: usize = response.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let bytes = response.body.len() + headers + key.url.len() + OVERHEAD;
        let mut inner = self.inner.lock();
        // Whatever comes of it, the old answer is not the answer any more. The newest response says what answers depend on.
        inner.remove(&key, |entry| entry.vary == vary || !varies_alike(&entry.vary, &vary));
        let (Some(lifetime), true) = (lifetime, bytes <= self.capacity) else { return };
        let Some(until) = now.checked_add(lifetime) else { return };
        let used = inner.tick();
        inner.uses.insert(used, key.clone());
        inner.bytes += bytes;
        inner.entries.entry(key).or_default().push(Entry { vary, response, until, bytes, used });
        while inner.bytes > self.capacity {
            let Some((used, key)) = inner.uses.pop_first() else { break };
            inner.remove(&key, |entry| entry.used == used);
        }
    }

    /// The fresh response to a request with these fields.
    pub(super) fn get(&self, cache: &str, url: &str, request: &Fields, now: SystemTime) -> Option<Stored> {
        let key = Key { cache: cache.to_owned(), url: url.to_owned() };
        let mut inner = self.inner.lock();
        inner.remove(&key, |entry| entry.until <= now);
        let tick = inner.tick();
        let entry = inner.entries.get_mut(&key)?.iter_mut().find(|entry| entry.answers(request))?;
        let before = std::mem::replace(&mut entry.used, tick);
        let response = entry.response.clone();
        inner.uses.remove(&before);
        inner.uses.insert(tick, key);
        Some(response)
    }

    /// Forgets all variants of a URL; `false` when there were none that were fresh.
    pub(super) fn delete(&self, cache: &str, url: &str, now: SystemTime) -> bool {
        let key = Key { cache: cache.to_owned(), url: url.to_owned() };
        let mut inner = self.inner.lock();
        inner.remove(&key, |entry| entry.until <= now);
        inner.remove(&key, |_| true) > 0
    }
}

impl Entry {
    fn answers(&self, request: &Fields) -> bool {
        self.vary.iter().all(|(name, value)| field(request, name) == *value)
    }
}

impl Inner {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Removes the variants of a URL that `which` names; returns how many.
    fn remove(&mut self, key: &Key, which: impl Fn(&Entry) -> bool) -> usize {
        let Some(variants) = self.entries.get_mut(key) else { return 0 };
        let before = variants.len();
        let (bytes, uses) = (&mut self.bytes, &mut self.uses);
        variants.retain(|entry| {
            let goes = which(entry);
            if goes {
                *bytes -= entry.bytes;
                uses.remove(&entry.used);
            }
            !goes
        });
        let removed = before - variants.len();
        if variants.is_empty() {
            self.entries.remove(key);
        }
        removed
    }
}

/// `true` when two answers depend on the same fields.
fn varies_alike(one: &[(String, Option<String>)], other: &[(String, Option<String>)]) -> bool {
    one.iter().map(|(name, _)| name).eq(other.iter().map(|(name, _)| name))
}

/// The values of the request's fields that `Vary` names.
fn varying(request: &Fields, response: &Fields) -> Vec<(String, Option<String>)> {
    let names = field(response, "vary").unwrap_or_default();
    let names = names.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty());
    let mut vary: Vec<_> = names.map(|name| (name.clone(), field(request, &name))).collect();
    vary.sort();
    vary.dedup();
    vary
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn fields(list: &[(&str, &str)]) -> Fields {
        list.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn response(size: usize, headers: &[(&str, &str)]) -> Stored {
        Stored { status: 200, headers: fields(headers), body: Bytes::from(vec![0; size]) }
    }

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn an_entry_ends_with_its_lifetime() {
        let store = CacheStore::new(10_000);
        store.put("", "u", &fields(&[]), response(1, &[("cache-control", "max-age=5")]), NOW);
        assert!(store.get("", "u", &fields(&[]), NOW + Duration::from_secs(4)).is_some());
        assert!(store.get("other", "u", &fields(&[]), NOW).is_none());
        assert!(store.get("", "u", &fields(&[]), NOW + Duration::from_secs(5)).is_none());
        assert!(!store.delete("", "u", NOW));
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let store = CacheStore::new(3 * (1000 + OVERHEAD + 100));
        for url in ["a", "b", "c"] {
            store.put("", url, &fields(&[]), response(1000, &[]), NOW);
        }
        assert!(store.get("", "a", &fields(&[]), NOW).is_some());
        store.put("", "d", &fields(&[]), response(1000, &[]), NOW);
        let kept = ["a", "b", "c", "d"].map(|url| store.get("", url, &fields(&[]), NOW).is_some());
        assert_eq!(kept, [true, false, true, true]);
        store.put("", "e", &fields(&[]), response(1_000_000, &[]), NOW);
        assert!(store.get("", "e", &fields(&[]), NOW).is_none());
    }

    #[test]
    fn bytes_are_given_back() {
        let store = CacheStore::new(100_000);
        for _ in 0..3 {
            store.put("", "u", &fields(&[]), response(1000, &[]), NOW);
        }
        assert!(store.inner.lock().bytes < 2000);
        assert!(store.delete("", "u", NOW));
        let inner = store.inner.lock();
        assert_eq!((inner.bytes, inner.uses.len(), inner.entries.len()), (0, 0, 0));
    }

    #[test]
    fn variants_are_told_apart_by_the_fields_they_depend_on() {
        let store = CacheStore::new(100_000);
        let (german, english) = (fields(&[("accept-language", "de")]), fields(&[("accept-language", "en")]));
        store.put("", "u", &german, response(1, &[("vary", "Accept-Language")]), NOW);
        assert!(store.get("", "u", &english, NOW).is_none());
        store.put("", "u", &english, response(2, &[("vary", "Accept-Language")]), NOW);
        assert_eq!(store.get("", "u", &german, NOW).map(|found| found.body.len()), Some(1));
        assert_eq!(store.get("", "u", &english, NOW).map(|found| found.body.len()), Some(2));
        store.put("", "u", &english, response(3, &[]), NOW);
        assert_eq!(store.get("", "u", &german, NOW).map(|found| found.body.len()), Some(3));
        assert!(store.delete("", "u", NOW));
        assert!(store.get("", "u", &german, NOW).is_none());
    }

    #[test]
    fn a_response_that_may_not_be_stored_replaces_what_was() {
        let store = CacheStore::new(100_000);
        store.put("", "u", &fields(&[]), response(1, &[]), NOW);
        store.put("", "u", &fields(&[]), response(1, &[("cache-control", "no-store")]), NOW);
        assert!(store.get("", "u", &fields(&[]), NOW).is_none());
    }
}
