//! Removing old deployments from a bucket.

use std::collections::BTreeSet;

use celld_bucket::{Bucket, BucketError};

use crate::deploy::{LoadError, current, manifest_key};
use crate::manifest::Manifest;

/// Objects in one answer of the store.
const PAGE: usize = 1000;

/// Removes all deployments but the `keep` newest, the current one and the one before it, and the modules that only they had.
/// Returns how many deployments went.
///
/// No other deployment may be made meanwhile: its modules stand in the bucket before a manifest names them.
///
/// # Errors
/// A store that fails, or a damaged pointer; what has gone by then is not missed.
pub async fn prune(bucket: &Bucket, keep: usize) -> Result<usize, LoadError> {
    let Some(pointer) = current(bucket).await? else { return Ok(0) };
    let mut ids: Vec<String> = keys(bucket, "deploy/manifests").await?;
    ids.retain_mut(|key| {
        match key.strip_prefix("deploy/manifests/").and_then(|name| name.strip_suffix(".json")) {
            Some(id) => {
                *key = id.to_owned();
                true
            }
            None => false,
        }
    });
    // An id begins with the time of its deployment.
    ids.sort_unstable();
    let old = ids.len().saturating_sub(keep);
    let (gone, kept): (Vec<_>, Vec<_>) = ids
        .into_iter()
        .enumerate()
        .partition(|(index, id)| *index < old && *id != pointer.id && Some(id) != pointer.previous.as_ref());
    if gone.is_empty() {
        return Ok(0);
    }
    let mut needed = BTreeSet::new();
    for (_, id) in &kept {
        let Some(object) = bucket.get(&manifest_key(id)).await? else { continue };
        // What its modules are nobody knows, so none may go.
        let Ok(manifest) = Manifest::from_json(&object.bytes) else { return Ok(0) };
        let workers = std::iter::once(manifest.worker).chain(manifest.workers);
        needed.extend(workers.flat_map(|worker| worker.modules).map(|module| module.key));
    }
    for (_, id) in &gone {
        bucket.delete(&manifest_key(id)).await?;
    }
    for key in keys(bucket, "deploy/modules").await? {
        if !needed.contains(&key) {
            bucket.delete(&key).await?;
        }
    }
    Ok(gone.len())
}

async fn keys(bucket: &Bucket, prefix: &str) -> Result<Vec<String>, BucketError> {
    let mut keys: Vec<String> = Vec::new();
    loop {
        let page = bucket.list(prefix, keys.last().map(String::as_str), PAGE).await?;
        let is_last = page.len() < PAGE;
        keys.extend(page.into_iter().map(|listed| listed.key));
        if is_last {
            return Ok(keys);
        }
    }
}
