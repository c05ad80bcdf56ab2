//! Where a cell's database comes from when the cell is brought here: the local file of a clean stop, a copy of its history, or page
//! by page from the bucket.
//!
//! [`Images`] owns the directory of image files. It trusts nothing in there but what a clean stop of this node vouched for and the
//! bucket confirms ([`Images::open`]); everything else is a cache that is made anew.
//!
//! Invariant: this crate decides only where bytes come from. Who may serve a cell is decided before it is asked.

mod hydrate;
mod images;
mod local;
mod prefetch;
mod source;

pub use images::{Activated, From, Images, ImagesError, Options};
pub use local::{CleanCell, CleanStop, MARKER};
