//! A SQLite VFS that serves one file, the database of one cell, from its [`Store`].
//!
//! What SQLite does and this file relies on (measured, see the property test):
//! * a commit is `xWrite…`, perhaps `xTruncate`, then `SQLITE_FCNTL_COMMIT_PHASETWO`; only the last is the commit.
//!   `SQLITE_FCNTL_SYNC` is not: a truncation follows it, and a rollback that had spilled pages sends it too;
//! * with `journal_mode=MEMORY` and `temp_store=MEMORY` no other file is ever opened, so `xOpen` refuses all others;
//! * writes are whole aligned pages; reads may be parts of page 1;
//! * in exclusive mode no lock is ever released.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Once;
use std::time::{SystemTime, UNIX_EPOCH};

use celld_ltx::PAGE_SIZE;
use rusqlite::ffi;

use crate::memory;
use crate::store::{Store, StoreError};

/// The name the VFS is registered under.
pub(crate) const NAME: &CStr = c"celld";

/// `sqlite3_file` with our pointer behind it.
#[repr(C)]
struct CellFile {
    base: ffi::sqlite3_file,
    store: *mut Store,
}

thread_local! {
    /// The store of the connection that this thread is opening; SQLite gives `xOpen` nothing but a name.
    static OPENING: Cell<*mut Store> = const { Cell::new(std::ptr::null_mut()) };
}

/// Registers the VFS, once per process, and hands `store` to the next `xOpen` on this thread.
///
/// The store must stay where it is until that connection is closed.
pub(crate) fn prepare_open(store: *mut Store) {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| {
        // The allocator can only be chosen before SQLite initializes, which registering the VFS does.
        memory::install();
        let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<CellFile>() as c_int,
            mxPathname: 64,
            pNext: std::ptr::null_mut(),
            zName: NAME.as_ptr(),
            pAppData: std::ptr::null_mut(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: Some(current_time_ms),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        // SAFETY: the structure lives for the rest of the process and its functions match their declared types.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        // It fails only when SQLite itself cannot initialize; opening a connection then fails with the same error.
        if code != ffi::SQLITE_OK {
            tracing::error!(code, "cannot register the SQLite VFS");
        }
    });
    OPENING.set(store);
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Version 1: no shared memory (so no WAL) and no memory mapping.
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(lock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// The store of an open file.
///
/// # Safety
/// `file` was filled by [`open`]. SQLite calls the methods of a connection on one thread at a time, and the owner of
/// the store does not touch it while it is inside SQLite, so the reference is unique for the length of a method.
unsafe fn store<'a>(file: *mut ffi::sqlite3_file) -> &'a mut Store {
    // SAFETY: see above.
    unsafe { &mut *(*file.cast::<CellFile>()).store }
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let store = OPENING.replace(std::ptr::null_mut());
    // SAFETY: SQLite passes a file of szOsFile bytes; pMethods must be set even when the open fails.
    unsafe { (*file).pMethods = std::ptr::null() };
    if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 || name.is_null() || store.is_null() {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: as above; `out_flags` is null or writable.
    unsafe {
        let file = file.cast::<CellFile>();
        (*file).store = store;
        (*file).base.pMethods = &METHODS;
        if !out_flags.is_null() {
            *out_flags = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see `store`.
    unsafe { store(file) }.rollback();
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, out: *mut c_void, len: c_int, offset: i64) -> c_int {
    // SAFETY: see `store`; SQLite passes a buffer of `len` bytes that nobody else uses during the call.
    let (store, out) =
        unsafe { (store(file), std::slice::from_raw_parts_mut(out.cast::<u8>(), len as usize)) };
    match store.read(offset as u64, out) {
        Ok(true) => ffi::SQLITE_OK,
        Ok(false) => ffi::SQLITE_IOERR_SHORT_READ,
        Err(_) => ffi::SQLITE_IOERR_READ,
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    len: c_int,
    offset: i64,
) -> c_int {
    if len as usize != PAGE_SIZE || offset % PAGE_SIZE as i64 != 0 {
        return ffi::SQLITE_IOERR_WRITE;
    }
    // SAFETY: see `store`; SQLite passes `len` readable bytes.
    let (store, page) = unsafe { (store(file), std::slice::from_raw_parts(data.cast::<u8>(), PAGE_SIZE)) };
    match store.write((offset / PAGE_SIZE as i64) as u32 + 1, page) {
        Ok(()) => ffi::SQLITE_OK,
        Err(StoreError::Full) => ffi::SQLITE_FULL,
        Err(StoreError::Read) => ffi::SQLITE_IOERR_WRITE,
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: see `store`.
    unsafe { store(file) }.truncate(size as u64);
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(_file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: see `store`; `out` is writable.
    unsafe { *out = store(file).size() as i64 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn lock(_file: *mut ffi::sqlite3_file, _level: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(_file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: `out` is writable.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, op: c_int, _arg: *mut c_void) -> c_int {
    match op {
        // An error here would come too late: SQLite has committed.
        ffi::SQLITE_FCNTL_COMMIT_PHASETWO => {
            // SAFETY: see `store`.
            unsafe { store(file) }.commit();
            ffi::SQLITE_OK
        }
        _ => ffi::SQLITE_NOTFOUND,
    }
}

unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    512
}

unsafe extern "C" fn device_characteristics(_file: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | ffi::SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN
}

unsafe extern "C" fn delete(_vfs: *mut ffi::sqlite3_vfs, _name: *const c_char, _sync_dir: c_int) -> c_int {
    ffi::SQLITE_IOERR_DELETE_NOENT
}

unsafe extern "C" fn access(
    _vfs: *mut ffi::sqlite3_vfs,
    _name: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: `out` is writable. No journal and no WAL ever exists.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    len: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: `name` is NUL-terminated, `out` has `len` bytes, and they do not overlap.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() > len as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(_vfs: *mut ffi::sqlite3_vfs, len: c_int, out: *mut c_char) -> c_int {
    // SAFETY: `out` has `len` bytes. SQLite asks once, to seed its generator.
    let got = unsafe { libc::getrandom(out.cast(), len as usize, 0) };
    got.max(0) as c_int
}

unsafe extern "C" fn sleep(_vfs: *mut ffi::sqlite3_vfs, micros: c_int) -> c_int {
    // Nothing is ever busy: there is one connection.
    micros
}

/// Milliseconds since noon on 24 November 4714 BC, SQLite's epoch.
fn julian_ms() -> i64 {
    const UNIX_EPOCH_MS: i64 = 210_866_760_000_000;
    UNIX_EPOCH_MS + SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

unsafe extern "C" fn current_time(_vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    // SAFETY: `out` is writable.
    unsafe { *out = julian_ms() as f64 / 86_400_000.0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time_ms(_vfs: *mut ffi::sqlite3_vfs, out: *mut i64) -> c_int {
    // SAFETY: `out` is writable.
    unsafe { *out = julian_ms() };
    ffi::SQLITE_OK
}
