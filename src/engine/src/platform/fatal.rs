//! What becomes of a thread when V8 gives up.
//!
//! V8 ends the process when an allocation fails for good, and when code asks for something absurdly large. Here it is the thread that
//! ends instead: it is parked for the rest of the process's life, with everything on it, because V8 cannot be unwound. Whoever
//! watches over the thread sees its flag and starts another one. The same becomes of a thread that does not come back from one of V8's own
//! functions, which nothing can interrupt; it is parked when it comes back after all.

// Signal handlers, and a callback of V8.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use deno_core::v8;

thread_local! {
    /// Set when V8 gives up on this thread.
    static FLAG: Cell<Option<&'static AtomicBool>> = const { Cell::new(None) };
    /// How many isolates are entered on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The signals by which V8 ends a process.
const SIGNALS: [c_int; 3] = [libc::SIGTRAP, libc::SIGILL, libc::SIGABRT];

/// From now on this thread is parked when V8 gives up in one of its isolates, after `flag` was set.
pub(crate) fn guard_thread(flag: &'static AtomicBool) {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        for signal in SIGNALS {
            // SAFETY: the handler only touches thread-locals without destructors and atomics, and calls `pause` and `signal`.
            unsafe { libc::signal(signal, handle as *const () as libc::sighandler_t) };
        }
    });
    FLAG.set(Some(flag));
}

/// While this lives, an isolate is entered on this thread.
pub(super) struct Inside(());

impl Inside {
    pub fn new() -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// V8's callback for an allocation that failed for good. On a thread without a guard it returns, and V8 ends the process.
pub(super) unsafe extern "C" fn out_of_memory(_: *const c_char, _: &v8::OomDetails) {
    park_if_guarded();
}

extern "C" fn handle(signal: c_int) {
    if DEPTH.get() > 0 {
        park_if_guarded();
    }
    // Nothing of V8's: what the signal does by itself, once the instruction is tried again or `abort` goes on.
    // SAFETY: may be called in a handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

fn park_if_guarded() {
    if let Some(flag) = FLAG.get() {
        flag.store(true, Ordering::Release);
        park();
    }
}

/// Ends what this thread does, for good, without unwinding it.
pub(crate) fn park() -> ! {
    loop {
        // SAFETY: waits for a signal; may be called in a handler.
        unsafe { libc::pause() };
    }
}

/// Bytes of a page of memory.
pub(crate) fn page_size() -> u64 {
    // SAFETY: has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

/// A thread of this process, as the system knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadId(libc::pid_t);

/// The calling thread.
pub(crate) fn this_thread() -> ThreadId {
    // SAFETY: has no preconditions.
    ThreadId(unsafe { libc::gettid() })
}

/// Leaves the processor to everybody else: `thread` works for nobody any more but cannot be stopped, because the signal that stops it
/// could come while it holds a lock of the allocator's.
pub(crate) fn step_back(thread: ThreadId) {
    // SAFETY: takes plain numbers; at worst there is no such thread any more.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread.0 as libc::id_t, 19) };
}
