//! What of Deno's crates an isolate may call: a list of what was looked at, everything else throws.
//!
//! The crates bring about a thousand ops and methods. Their JavaScript keeps most of them out of reach,
//! but that is a property of a large foreign code base; this is the layer that does not depend on it.
//! An op that a new version of a crate adds is closed until it is added to `allowed_ops.txt`.
//!
//! Snapshot and runtime must agree on the list of ops, because V8 finds them by position: so a closed
//! op keeps its place and its name and only gets another body.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use deno_core::{AccessorType, Extension, OpDecl};
use parking_lot::Mutex;

use super::blobs::op_blob_create_part;
use super::ops::op_celld_denied;

/// The ops of Deno's crates that user code may cause to run.
static ALLOWED: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("allowed_ops.txt").lines();
    lines.flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace()).collect()
});

/// The ops of this project's own extensions.
static OWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The prefix of the names of this project's extensions.
const OWN_EXTENSION: &str = "celld_";

/// Lets all ops of our own `extension` run; of Deno's, closes what of its native objects is not allowed.
pub(super) fn close(extension: &mut Extension) {
    if extension.name.starts_with(OWN_EXTENSION) {
        OWN.lock().extend(extension.ops.iter().map(|op| op.name));
    } else {
        close_objects(extension);
    }
}

/// `op`, or the same op with a body that throws. An extension's middleware: `deno_core` applies it to
/// the ops of every extension and its own, but not to methods of objects ([`close_objects`]).
pub(super) fn filter(op: OpDecl) -> OpDecl {
    if op.name == "op_blob_create_part" {
        return op.with_implementation_from(&op_blob_create_part());
    }
    let allowed = ALLOWED.contains(op.name) || OWN.lock().contains(op.name);
    if allowed { op } else { op.with_implementation_from(&op_celld_denied()) }
}

/// What is closed of a native object's methods.
enum Closed {
    /// These methods.
    Methods(&'static [&'static str]),
    /// The constructor, and all methods but the ones that only manage the handle's life.
    Object,
}

/// Methods that are harmless on an object that could never be opened; polyfills call them on teardown.
const LIFE_CYCLE: &[&str] = &["close", "hasRef", "ref", "unref", "getAsyncId"];

/// Native objects of `deno_node` that reach descriptors or listening sockets of the host.
fn closed_parts(object: &str) -> Option<Closed> {
    match object {
        "TCPWrap" | "TCP" => Some(Closed::Methods(&[
            "open",
            "open_from_rid",
            "openFromRid",
            "bind",
            "bind6",
            "bind_with_flags",
            "bindWithFlags",
            "listen",
            "accept",
            "fd_for_ipc",
            "fdForIpc",
            "take_stream",
            "takeStream",
        ])),
        "PipeWrap" | "Pipe" | "TTY" | "WasiContext" => Some(Closed::Object),
        _ => None,
    }
}

/// Closes methods of the native objects of `extension`.
fn close_objects(extension: &mut Extension) {
    let concerned = extension.objects.iter().any(|object| closed_parts(object.name.0).is_some());
    if !concerned {
        return;
    }
    for object in extension.objects.to_mut() {
        let name = object.name.0;
        let Some(closed) = closed_parts(name) else { continue };
        let tables = (object.methods, object.static_methods);
        (object.methods, object.static_methods) = closed_tables(name, &closed, tables);
        if let (Closed::Object, Some(constructor)) = (closed, object.constructor) {
            object.constructor = Some(constructor.with_implementation_from(&op_celld_denied()));
        }
    }
}

/// The methods and the static methods of a native object.
type Tables = (&'static [OpDecl], &'static [OpDecl]);

/// The rewritten method tables of the object `name`. `deno_core` wants them to live for ever, so each
/// thread makes them once.
fn closed_tables(name: &'static str, closed: &Closed, (methods, static_methods): Tables) -> Tables {
    thread_local!(static TABLES: RefCell<HashMap<&'static str, Tables>> = RefCell::default());
    let is_closed = |method: &OpDecl| match closed {
        _ if method.accessor_type != AccessorType::None => false,
        Closed::Methods(names) => names.contains(&method.name),
        Closed::Object => !LIFE_CYCLE.contains(&method.name),
    };
    let close = |methods: &'static [OpDecl]| -> &'static [OpDecl] {
        let rewritten = methods.iter().map(|method| match is_closed(method) {
            true => method.with_implementation_from(&op_celld_denied()),
            false => *method,
        });
        Vec::leak(rewritten.collect())
    };
    TABLES.with_borrow_mut(|tables| {
        *tables.entry(name).or_insert_with(|| (close(methods), close(static_methods)))
    })
}
