//! `ctx.storage`: the ops behind `js/storage`, on the databases of [`celld_storage`].
//!
//! JavaScript names a cell by the handle that [`table::CellTable`] gave; everything here is synchronous, and every write
//! joins the transaction that the shard commits at the end of the turn. Argument checks and the platform's messages are
//! JavaScript's part; what depends on bytes (sizes, serialization, SQL) is here.

// The macro behind `extension!` writes references into V8 with `unsafe`.
#![allow(unsafe_code)]

mod clone;
mod error;
mod kv;
mod sql;
pub mod table;
mod transaction;

deno_core::extension!(
    celld_storage,
    deps = [celld_platform],
    ops = [
        kv::op_storage_kv_get,
        kv::op_storage_kv_get_many,
        kv::op_storage_kv_put,
        kv::op_storage_kv_put_many,
        kv::op_storage_kv_delete,
        kv::op_storage_kv_delete_many,
        kv::op_storage_kv_list,
        sql::op_storage_sql_exec,
        sql::op_storage_sql_next,
        sql::op_storage_sql_rest,
        sql::op_storage_sql_size,
        transaction::op_storage_savepoint,
        transaction::op_storage_release,
        transaction::op_storage_rollback_to,
        transaction::op_storage_delete_all,
        transaction::op_storage_set_rewind,
        transaction::op_storage_get_alarm,
        transaction::op_storage_set_alarm,
    ],
    esm = [
        dir "js/storage",
        "arguments.js",
        "kv.js",
        "operations.js",
        "sql.js",
        "storage.js",
        "transaction.js",
    ],
);
