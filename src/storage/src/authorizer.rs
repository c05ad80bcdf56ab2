//! What user SQL may do: workerd's rules, asked by SQLite while it compiles a statement.

use std::cell::Cell;
use std::ffi::CStr;

use rusqlite::ffi;

/// Who is compiling or running a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Author {
    /// This crate.
    Celld,
    /// A Worker.
    User,
}

/// State shared with the authorizer callback of one connection.
pub(crate) struct Authorizer {
    pub(crate) author: Cell<Author>,
    /// The last denial was about a transaction statement: it has a message of its own.
    pub(crate) denied_transaction: Cell<bool>,
    /// The statement being compiled is a PRAGMA.
    pub(crate) is_pragma: Cell<bool>,
    /// The statement being compiled mentions a reserved name. `ALTER TABLE … RENAME TO` does not tell the authorizer
    /// the new name.
    pub(crate) names_reserved: Cell<bool>,
}

impl Authorizer {
    pub(crate) fn new() -> Self {
        Self {
            author: Cell::new(Author::Celld),
            denied_transaction: Cell::new(false),
            is_pragma: Cell::new(false),
            names_reserved: Cell::new(false),
        }
    }

    /// True when `action` (a `SQLITE_*` authorizer action code) is allowed.
    pub(crate) fn allows(
        &self,
        action: i32,
        first: Option<&CStr>,
        second: Option<&CStr>,
        database: Option<&CStr>,
    ) -> bool {
        if self.author.get() == Author::Celld {
            return true;
        }
        let first = first.map_or(&b""[..], CStr::to_bytes);
        let second = second.map_or(&b""[..], CStr::to_bytes);
        if database.is_some_and(|name| name.to_bytes().eq_ignore_ascii_case(b"temp")) {
            // Every ALTER TABLE … RENAME also renames in the temporary schema, which is empty. SQLite itself refuses a
            // Worker's own UPDATE of a schema.
            let renames = action == ffi::SQLITE_UPDATE && first.eq_ignore_ascii_case(b"sqlite_temp_master");
            return action == ffi::SQLITE_READ || renames;
        }
        match action {
            ffi::SQLITE_TRANSACTION | ffi::SQLITE_SAVEPOINT => {
                self.denied_transaction.set(true);
                false
            }
            ffi::SQLITE_ATTACH
            | ffi::SQLITE_DETACH
            | ffi::SQLITE_CREATE_TEMP_INDEX
            | ffi::SQLITE_CREATE_TEMP_TABLE
            | ffi::SQLITE_CREATE_TEMP_TRIGGER
            | ffi::SQLITE_CREATE_TEMP_VIEW
            | ffi::SQLITE_DROP_TEMP_INDEX
            | ffi::SQLITE_DROP_TEMP_TABLE
            | ffi::SQLITE_DROP_TEMP_TRIGGER
            | ffi::SQLITE_DROP_TEMP_VIEW => false,
            ffi::SQLITE_PRAGMA => {
                self.is_pragma.set(true);
                pragma_allowed(first, second)
            }
            ffi::SQLITE_FUNCTION => !denied_function(second),
            ffi::SQLITE_CREATE_VTABLE => !is_reserved(first) && allowed_module(second),
            // The new name is not a parameter of this action.
            ffi::SQLITE_ALTER_TABLE => !is_reserved(second) && !self.names_reserved.get(),
            // ANALYZE and REINDEX without a name go over all tables.
            ffi::SQLITE_SELECT | ffi::SQLITE_RECURSIVE | ffi::SQLITE_ANALYZE | ffi::SQLITE_REINDEX => true,
            // Everything else names an object first, and an index or trigger its table second. A column name in second
            // place (SQLITE_READ, SQLITE_UPDATE) is not restricted.
            ffi::SQLITE_READ | ffi::SQLITE_UPDATE => !is_reserved(first),
            _ => !is_reserved(first) && !is_reserved(second),
        }
    }
}

/// Names that start with `_cf_`, in any case, belong to the runtime.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    name.len() >= 4 && name[..4].eq_ignore_ascii_case(b"_cf_")
}

/// True when `sql` contains a reserved name anywhere.
pub(crate) fn mentions_reserved(sql: &[u8]) -> bool {
    sql.windows(4).any(is_reserved)
}

fn allowed_module(name: &[u8]) -> bool {
    [&b"fts5"[..], b"fts5vocab", b"rtree", b"rtree_i32"]
        .iter()
        .any(|module| module.eq_ignore_ascii_case(name))
}

fn denied_function(name: &[u8]) -> bool {
    const DENIED: &[&[u8]] = &[
        b"load_extension",
        b"fts3_tokenizer",
        b"sqlite_compileoption_get",
        b"sqlite_compileoption_used",
        b"sqlite_log",
        b"sqlite_offset",
        b"sqlite_source_id",
        b"sqlite_version",
    ];
    DENIED.iter().any(|denied| denied.eq_ignore_ascii_case(name))
}

/// `argument` is empty when the PRAGMA has none.
fn pragma_allowed(name: &[u8], argument: &[u8]) -> bool {
    const READ_ONLY: &[&str] = &["data_version", "page_size", "table_list"];
    const SWITCHES: &[&str] = &[
        "case_sensitive_like",
        "defer_foreign_keys",
        "foreign_keys",
        "ignore_check_constraints",
        "legacy_alter_table",
        "recursive_triggers",
        "reverse_unordered_selects",
    ];
    const OF_AN_OBJECT: &[&str] = &[
        "foreign_key_check",
        "foreign_key_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "quick_check",
        "table_info",
        "table_xinfo",
    ];
    let is_in = |names: &[&str]| names.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name));
    if is_in(READ_ONLY) {
        argument.is_empty() || (name.eq_ignore_ascii_case(b"table_list") && !is_reserved(argument))
    } else if is_in(SWITCHES) {
        argument.is_empty() || is_boolean(argument)
    } else if name.eq_ignore_ascii_case(b"optimize") {
        true
    } else {
        is_in(OF_AN_OBJECT) && !is_reserved(argument)
    }
}

fn is_boolean(argument: &[u8]) -> bool {
    [&b"on"[..], b"off", b"true", b"false", b"yes", b"no", b"1", b"0"]
        .iter()
        .any(|value| value.eq_ignore_ascii_case(argument))
}
