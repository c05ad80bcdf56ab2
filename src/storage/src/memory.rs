//! A budget for the memory SQLite uses on behalf of one cell.
//!
//! SQLite's own limits are process-wide and cost a global mutex. Instead its allocator is ours, and charges whatever
//! cell the thread is working for; without one (and for allocations SQLite shares between connections) nothing is
//! charged. Pages of the overlay are not SQLite's memory: they have a bound of their own.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null, null_mut};

use rusqlite::ffi;

/// What one cell uses and may use, in bytes.
pub(crate) struct Budget {
    used: Cell<i64>,
    limit: i64,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { used: Cell::new(0), limit: limit.min(i64::MAX as usize) as i64 }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.get().max(0) as usize
    }
}

thread_local! {
    static CURRENT: Cell<*const Budget> = const { Cell::new(null()) };
}

/// Until it is dropped, this thread's SQLite allocations count for the budget given to [`enter`].
pub(crate) struct Entered(*const Budget);

/// Must surround every call into SQLite for a cell, closing included.
///
/// # Safety
/// `budget` must outlive the result.
pub(crate) unsafe fn enter(budget: NonNull<Budget>) -> Entered {
    Entered(CURRENT.replace(budget.as_ptr()))
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Adds `delta` bytes to the current budget; false (and nothing is added) when that exceeds its limit.
fn charge(delta: i64) -> bool {
    let budget = CURRENT.get();
    if budget.is_null() {
        return true;
    }
    // SAFETY: `enter` promises that the budget outlives the guard that is on this thread's stack.
    let budget = unsafe { &*budget };
    let used = budget.used.get() + delta;
    if delta > 0 && used > budget.limit {
        return false;
    }
    budget.used.set(used);
    true
}

/// Each block carries its size in front, as SQLite's own allocator does: 8 bytes keep SQLite's alignment of 8.
const HEADER: usize = 8;

unsafe extern "C" fn allocate(len: c_int) -> *mut c_void {
    let total = len as usize + HEADER;
    if !charge(total as i64) {
        return null_mut();
    }
    // SAFETY: a plain allocation; the header is written inside it.
    unsafe {
        let block = libc::malloc(total).cast::<u64>();
        if block.is_null() {
            charge(-(total as i64));
            return null_mut();
        }
        *block = total as u64;
        block.add(1).cast()
    }
}

unsafe extern "C" fn release(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: `block` came from `allocate` or `reallocate`, so its header is in front.
    unsafe {
        let block = block.cast::<u64>().sub(1);
        charge(-(*block as i64));
        libc::free(block.cast());
    }
}

unsafe extern "C" fn reallocate(block: *mut c_void, len: c_int) -> *mut c_void {
    let total = len as usize + HEADER;
    // SAFETY: as in `release`; on failure the old block stays valid, as SQLite expects.
    unsafe {
        let block = block.cast::<u64>().sub(1);
        let delta = total as i64 - *block as i64;
        if !charge(delta) {
            return null_mut();
        }
        let moved = libc::realloc(block.cast(), total).cast::<u64>();
        if moved.is_null() {
            charge(-delta);
            return null_mut();
        }
        *moved = total as u64;
        moved.add(1).cast()
    }
}

unsafe extern "C" fn size(block: *mut c_void) -> c_int {
    if block.is_null() {
        return 0;
    }
    // SAFETY: as in `release`.
    unsafe { (*block.cast::<u64>().sub(1) as usize - HEADER) as c_int }
}

unsafe extern "C" fn round_up(len: c_int) -> c_int {
    (len + 7) & !7
}

unsafe extern "C" fn initialize(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn shut_down(_: *mut c_void) {}

/// Makes SQLite allocate through this module. Has to run before SQLite initializes; later it has no effect.
pub(crate) fn install() {
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(allocate),
        xFree: Some(release),
        xRealloc: Some(reallocate),
        xSize: Some(size),
        xRoundup: Some(round_up),
        xInit: Some(initialize),
        xShutdown: Some(shut_down),
        pAppData: null_mut(),
    };
    // SAFETY: SQLite copies the structure during the call.
    let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) };
    if code != ffi::SQLITE_OK {
        tracing::warn!(code, "SQLite was in use before the first cell: its memory is not bounded per cell");
    }
}
