//! Storage errors as JavaScript sees them.

use celld_storage::StorageError;
use deno_error::JsErrorBox;

/// A plain `Error` with workerd's message.
pub(super) fn to_js(error: &StorageError) -> JsErrorBox {
    JsErrorBox::generic(error.to_string())
}

/// The cell of this handle is not in the isolate any more.
pub(super) fn gone() -> JsErrorBox {
    JsErrorBox::generic("The Durable Object's instance was reset; its storage object can no longer be used.")
}

/// A value that cannot be stored; `js/storage/operations.js` makes a `DataCloneError` of it.
pub(super) fn data_clone(message: String) -> JsErrorBox {
    JsErrorBox::new("CelldDataCloneError", message)
}
