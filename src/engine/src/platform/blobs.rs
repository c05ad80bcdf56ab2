//! The bytes of `Blob`s, which Deno's crates keep outside of V8: here they count as the isolate's memory.

use std::sync::Arc;

use async_trait::async_trait;
use deno_core::{JsBuffer, OpState, op2, v8};
use deno_error::JsErrorBox;
use deno_web::{BlobPart, BlobStoreTrait};
use uuid::Uuid;

use super::guard::{IsolateGuard, Taken};

/// Bytes of a blob. Slices and copies of the blob refer to them.
#[derive(Debug)]
struct Part {
    bytes: Vec<u8>,
    _taken: Taken,
}

#[async_trait]
impl BlobPart for Part {
    async fn read<'a>(&'a self) -> &'a [u8] {
        &self.bytes
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// In the place of Deno's op of that name.
#[op2]
pub(super) fn op_blob_create_part(
    isolate: &mut v8::Isolate,
    state: &mut OpState,
    #[buffer] data: JsBuffer,
) -> Result<Uuid, JsErrorBox> {
    let guard = state.borrow::<Arc<IsolateGuard>>();
    let taken = guard.take_outside(isolate, data.len());
    let taken = taken.ok_or_else(|| JsErrorBox::range_error("Blob allocation failed"))?;
    let blobs = state.borrow::<Arc<dyn BlobStoreTrait>>();
    Ok(blobs.insert_part(Arc::new(Part { bytes: data.to_vec(), _taken: taken })))
}
