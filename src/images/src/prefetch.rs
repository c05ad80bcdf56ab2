//! Fetching first what every query needs: the schema and the interior pages of all trees.

use std::sync::Weak;

use celld_replica::RemoteImage;
use celld_storage::{PagedImage, tree};

/// At most so many pages are fetched this way: 32 MiB. A database of 10 GiB has about 6,000 interior pages in its tables.
const MOST: usize = 8192;

/// A level of at most so many pages is fetched whole, without a look whether these are leaves already.
const SMALL_LEVEL: usize = 64;

/// Fetches the interior pages of `image`, level by level. Ends early when the image is gone or something fails: whoever needs a page
/// then fetches it and hears about the failure.
pub(crate) async fn interior_pages(image: &Weak<PagedImage>, remote: &RemoteImage) {
    let mut budget = MOST;
    let Some(roots) = schema(image, remote, &mut budget).await else { return };
    let mut level = roots;
    while !level.is_empty() && budget > 0 {
        if level.len() > SMALL_LEVEL {
            // Trees of different height meet here; one page of each would be exact, the first of all is nearly always enough: a
            // database has one tree that is much larger than the others, and a level of many pages is a level of that tree.
            let probe = level[level.len() / 2];
            let Some(below) = fetch(image, remote, &[probe], &mut budget, tree::children).await else {
                return;
            };
            if below.is_empty() {
                return;
            }
        }
        let Some(below) = fetch(image, remote, &level, &mut budget, tree::children).await else { return };
        level = below;
    }
}

/// Fetches the schema and returns the roots of all trees.
async fn schema(image: &Weak<PagedImage>, remote: &RemoteImage, budget: &mut usize) -> Option<Vec<u32>> {
    let mut roots = Vec::new();
    let mut level = vec![1];
    while !level.is_empty() && *budget > 0 {
        let mut below = Vec::new();
        let found = fetch(image, remote, &level, budget, |pgno, page| {
            below.extend(tree::children(pgno, page));
            tree::schema_roots(pgno, page)
        });
        roots.extend(found.await?);
        level = below;
    }
    Some(roots)
}

/// Fetches those of `pages` that are missing and collects what `look` finds in each.
async fn fetch(
    image: &Weak<PagedImage>,
    remote: &RemoteImage,
    pages: &[u32],
    budget: &mut usize,
    mut look: impl FnMut(u32, &[u8]) -> Vec<u32>,
) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for pages in pages.chunks(256) {
        let missing: Vec<u32> = {
            let image = image.upgrade()?;
            pages.iter().copied().filter(|pgno| image.is_missing(*pgno)).take(*budget).collect()
        };
        *budget -= missing.len();
        if !missing.is_empty() {
            let fetched = remote.read(&missing).await;
            let fetched = fetched.inspect_err(|error| tracing::debug!(%error, "interior pages")).ok()?;
            image.upgrade()?.fill(&fetched).ok()?;
        }
        for pgno in pages {
            // Those beyond the budget are not there; nor is one that the cell has cut off meanwhile.
            if let Some(page) = image.upgrade()?.page(*pgno).ok()? {
                found.extend(look(*pgno, &page));
            }
        }
    }
    Some(found)
}
