//! Keeps an isolate to its limits: what other threads end its code by, and how much memory it may use: its V8 heap, its array buffers
//! and its WebAssembly memories together, and each of its events to its processor time.
//!
//! An event is not one stretch of code: it goes on in timers and promises, between which others run. So the watchdog takes samples:
//! whenever it sees the isolate busy, the event that the running code belongs to is charged with the time since the last sample.
//!
//! Three things keep memory to the limit. V8 ends code whose heap comes near it. Array buffers come from an allocator that counts and
//! refuses. And while code runs for long the watchdog has the isolate look at the rest, which V8 only reports: buffers that the host
//! made, and WebAssembly memories (one of which cannot grow past the limit in the first place, [`FLAGS`]).

// V8 calls the allocator and the interrupt by raw pointer.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use deno_core::{JsRuntime, v8};
use parking_lot::Mutex;

use super::errors::is_internal;

/// The memory an isolate may use unless told otherwise: the platform's 128 MiB.
pub const DEFAULT_LIMIT: usize = 128 << 20;

/// Flags of V8, which hold for the process.
///
/// The first bounds each WebAssembly memory by [`DEFAULT_LIMIT`], in pages of 64 KiB. The second keeps TurboFan from taking the check for
/// a termination out of an endless loop: its analysis takes it out of loops that end soon, but if such a loop has none (it fills the
/// elements of a `new Array(1000)`), it is the next one's that goes, the enclosing loop's.
pub(super) const FLAGS: [&str; 2] = ["--wasm-max-mem-pages=2048", "--no-turboshaft-loop-unrolling"];

/// How often the limit of a heap is raised to let the event end that reached it.
const HEAP_RAISES: u32 = 4;
/// V8 collects garbage between two attempts to allocate a buffer, but what a collection finds is often only free after the next one.
/// It makes this many attempts.
const REFUSALS: u32 = 4;
/// WebAssembly memories and buffers of the host may be this many times the limit: V8 says how large they are together, not how much of
/// that is garbage which it will collect in time.
const UNCOUNTED: usize = 4;
/// How often code that is to be ended is seen in the platform's own functions before it is ended there.
const TRIES: u32 = 100;
/// What array buffers are aligned to: V8 asks for no more than its largest element.
const ALIGN: usize = 16;

/// What is known of one isolate outside its thread.
pub struct IsolateGuard {
    limit: usize,
    /// Bytes of array buffers that the allocator has handed out.
    buffers: AtomicUsize,
    /// Bytes that are neither in the heap nor in array buffers, and how many of them V8 was told of.
    outside: AtomicUsize,
    reported: AtomicUsize,
    refusals: AtomicU32,
    /// A buffer was refused that could never fit.
    denied: AtomicBool,
    exceeded: AtomicBool,
    /// Processor time that no event was charged with yet, in milliseconds.
    uncharged: AtomicU64,
    /// The code that runs is to be ended, as soon as that breaks nothing.
    ending: AtomicBool,
    /// How often it could not be.
    tries: AtomicU32,
    /// It was.
    ended: AtomicBool,
    /// It was, although the platform's own code was half-way through something.
    torn: AtomicBool,
    /// An interrupt is on its way.
    looking: AtomicBool,
    /// By which code is ended; set when the isolate has started.
    isolate: Mutex<Option<v8::IsolateHandle>>,
}

/// What an isolate uses, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// The V8 heap, garbage included.
    pub heap: usize,
    /// Array buffers and WebAssembly memories.
    pub external: usize,
}

impl MemoryUse {
    /// All of it.
    pub fn total(self) -> usize {
        self.heap + self.external
    }
}

impl IsolateGuard {
    /// A guard for an isolate that is about to start.
    pub(super) fn new(limit: usize) -> Arc<IsolateGuard> {
        Arc::new(IsolateGuard {
            limit,
            buffers: AtomicUsize::new(0),
            outside: AtomicUsize::new(0),
            reported: AtomicUsize::new(0),
            refusals: AtomicU32::new(0),
            denied: AtomicBool::new(false),
            exceeded: AtomicBool::new(false),
            uncharged: AtomicU64::new(0),
            ending: AtomicBool::new(false),
            tries: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            torn: AtomicBool::new(false),
            looking: AtomicBool::new(false),
            isolate: Mutex::new(None),
        })
    }

    /// What V8 must know before the isolate exists.
    pub(super) fn params(self: &Arc<Self>) -> v8::CreateParams {
        let handle = Arc::into_raw(self.clone());
        // SAFETY: `ALLOCATOR` treats the handle as what it is, a counted reference, which `release` gives back.
        let allocator = unsafe { v8::new_rust_allocator(handle, &ALLOCATOR) };
        v8::CreateParams::default().heap_limits(0, self.limit).array_buffer_allocator(allocator)
    }

    /// Guards the heap of the isolate that was started with [`params`](Self::params).
    pub(super) fn attach(self: &Arc<Self>, runtime: &mut JsRuntime) {
        *self.isolate.lock() = Some(runtime.v8_isolate().thread_safe_handle());
        self.guard_heap(runtime);
    }

    /// Makes code that comes near the heap limit end with a termination, which it cannot catch.
    fn guard_heap(self: &Arc<Self>, runtime: &mut JsRuntime) {
        let guard = self.clone();
        let mut raises = 0;
        runtime.add_near_heap_limit_callback(move |current, initial| {
            // V8 tries everything before it gives up on a buffer. The heap itself has room.
            let is_buffer = guard.refusals.load(Ordering::Relaxed) > 0;
            if guard.denied.swap(false, Ordering::Relaxed) || is_buffer {
                return current;
            }
            guard.exceed();
            raises += 1;
            if raises > 1 {
                // It had room enough to be ended where that breaks nothing.
                guard.terminate(true);
            }
            if raises > HEAP_RAISES { current } else { current + initial / 2 }
        });
    }

    /// Ends the code that runs, which cannot catch it; any thread may ask. `torn` says that it may be the platform's own.
    fn terminate(&self, torn: bool) {
        self.torn.fetch_or(torn, Ordering::Relaxed);
        self.ending.store(false, Ordering::Relaxed);
        self.ended.store(true, Ordering::Relaxed);
        if let Some(isolate) = &*self.isolate.lock() {
            isolate.terminate_execution();
        }
    }

    /// Has the code that runs ended, for the sake of memory; any thread may ask.
    pub fn exceed(&self) {
        self.exceeded.store(true, Ordering::Relaxed);
        self.end();
    }

    /// Ends the code that runs in an operation of the platform's, for the sake of memory: the code that called it.
    pub(super) fn exceed_now(&self) {
        self.exceeded.store(true, Ordering::Relaxed);
        self.terminate(false);
    }

    /// The memory the isolate may use, in bytes.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether code was to be ended for the sake of memory since this was asked last.
    pub fn take_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed) && self.exceeded.swap(false, Ordering::Relaxed)
    }

    /// After an event was ended: collects what it left, and puts the heap limit back to where it was. Says what is left.
    pub fn recover(self: &Arc<Self>, runtime: &mut JsRuntime) -> MemoryUse {
        runtime.v8_isolate().low_memory_notification();
        runtime.remove_near_heap_limit_callback(self.limit);
        self.guard_heap(runtime);
        self.look(runtime.v8_isolate())
    }

    /// Whether an isolate that uses so much has to be replaced: the next event would hardly start before it is ended too.
    pub fn is_full(&self, used: MemoryUse) -> bool {
        used.total() > self.limit / 4 * 3
    }

    /// Whether garbage should be collected although V8 sees no need.
    pub fn is_far_beyond(&self, used: MemoryUse) -> bool {
        used.total() > self.limit / 4 * 5
    }

    /// Counts `len` bytes of the isolate's that V8 does not see. How much of them is garbage is only known after a collection and the
    /// callbacks that follow it, so they may be [`UNCOUNTED`] times the limit, as what V8 has no count of; `None`, and the code that
    /// runs is ended, when they are more.
    pub(super) fn take_outside(self: &Arc<Self>, isolate: &mut v8::Isolate, len: usize) -> Option<Taken> {
        let before = self.outside.fetch_add(len, Ordering::Relaxed);
        let taken = Taken { guard: self.clone(), len };
        if before.saturating_add(len) > UNCOUNTED * self.limit {
            self.exceed();
            return None;
        }
        self.report(isolate);
        if before / self.limit != (before + len) / self.limit {
            isolate.low_memory_notification();
        }
        Some(taken)
    }

    /// Tells V8 how much there is outside, so that it collects garbage accordingly.
    fn report(&self, isolate: &mut v8::Isolate) {
        let now = self.outside.load(Ordering::Relaxed);
        let before = self.reported.swap(now, Ordering::Relaxed);
        if now != before {
            isolate.adjust_amount_of_external_allocated_memory(now as i64 - before as i64);
        }
    }

    /// Looks at what the isolate uses.
    pub fn look(&self, isolate: &mut v8::Isolate) -> MemoryUse {
        self.report(isolate);
        // The statistics leave WebAssembly memories out; a change by nothing gives the sum by which V8 decides on collections.
        let external = isolate.adjust_amount_of_external_allocated_memory(0);
        let heap = isolate.get_heap_statistics().used_heap_size();
        MemoryUse { heap, external: usize::try_from(external).unwrap_or(0) }
    }

    /// A turn begins: nothing of it was to be ended yet.
    pub fn begin(&self) {
        self.ending.store(false, Ordering::Relaxed);
        self.ended.store(false, Ordering::Relaxed);
    }

    /// Has the code that runs ended as soon as that breaks nothing; any thread may ask.
    pub fn end(&self) {
        self.want_end();
        self.interrupt();
    }

    /// Has the code that runs ended by the next interrupt.
    fn want_end(&self) {
        if !self.ending.swap(true, Ordering::Relaxed) {
            self.tries.store(0, Ordering::Relaxed);
        }
    }

    /// Tries again to end code that is to be ended. False if none is; any thread may ask.
    pub fn try_again(&self) -> bool {
        let ending = self.ending.load(Ordering::Relaxed);
        if ending {
            self.interrupt();
        }
        ending
    }

    /// Whether code was ended in this turn.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether code was ended in the turn that is over.
    pub fn take_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) && self.ended.swap(false, Ordering::Relaxed)
    }

    /// Whether code was ended that belongs to the platform, since this was asked last.
    pub fn take_torn(&self) -> bool {
        self.torn.load(Ordering::Relaxed) && self.torn.swap(false, Ordering::Relaxed)
    }

    /// Whether memory that grew by `growth` bytes during one turn is more than anything that is counted can explain.
    pub fn is_beyond_counting(&self, growth: u64) -> bool {
        growth > (UNCOUNTED * self.limit) as u64
    }

    /// Charges nobody with what was not charged yet: the event that used it was ended, and what runs now would pay.
    pub fn forgive(&self) {
        self.uncharged.store(0, Ordering::Relaxed);
    }

    /// Takes a sample as soon as the isolate can: charges `busy` to the event that runs, and looks at the memory. Any thread may ask.
    pub fn sample(&self, busy: Duration) {
        self.uncharged.fetch_add(busy.as_millis() as u64, Ordering::Relaxed);
        self.interrupt();
    }

    /// Has [`interrupted`] called as soon as the isolate can.
    fn interrupt(&self) {
        if self.looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let this = std::ptr::from_ref(self);
        // SAFETY: guards are only made in an `Arc` (`new`); the call has a count of its own.
        unsafe { Arc::increment_strong_count(this) };
        let isolate = self.isolate.lock();
        let data = this.cast_mut().cast();
        let asked = isolate.as_ref().is_some_and(|isolate| isolate.request_interrupt(interrupted, data));
        if !asked {
            // SAFETY: it is the count of above, which V8 did not take.
            unsafe { Arc::decrement_strong_count(this) };
            self.looking.store(false, Ordering::Relaxed);
        }
    }

    /// Takes `len` bytes of the limit.
    fn take(&self, len: usize) -> bool {
        let buffers = self.buffers.fetch_add(len, Ordering::Relaxed).saturating_add(len);
        if buffers <= self.limit {
            self.refusals.store(0, Ordering::Relaxed);
            return true;
        }
        self.buffers.fetch_sub(len, Ordering::Relaxed);
        // A buffer that could never fit is an error that the code may catch.
        if len > self.limit {
            self.denied.store(true, Ordering::Relaxed);
        } else if self.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS {
            self.refusals.store(0, Ordering::Relaxed);
            self.exceed();
        }
        false
    }

    fn allocate(&self, len: usize, new: unsafe fn(Layout) -> *mut u8) -> *mut c_void {
        let Some(layout) = layout(len) else { return std::ptr::null_mut() };
        if !self.take(len) {
            return std::ptr::null_mut();
        }
        // SAFETY: the layout's size is not zero.
        unsafe { new(layout) }.cast()
    }
}

/// Bytes of an isolate's memory; given back when this is dropped, on any thread.
#[derive(Debug)]
pub(super) struct Taken {
    guard: Arc<IsolateGuard>,
    len: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.guard.outside.fetch_sub(self.len, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for IsolateGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IsolateGuard({} bytes)", self.limit)
    }
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len.max(1), ALIGN).ok()
}

unsafe extern "C" fn allocate(guard: &IsolateGuard, len: usize) -> *mut c_void {
    guard.allocate(len, alloc_zeroed)
}

unsafe extern "C" fn allocate_uninitialized(guard: &IsolateGuard, len: usize) -> *mut c_void {
    guard.allocate(len, alloc)
}

unsafe extern "C" fn free(guard: &IsolateGuard, data: *mut c_void, len: usize) {
    if let Some(layout) = layout(len)
        && !data.is_null()
    {
        // SAFETY: V8 gives back what `allocate` made, with the same length.
        unsafe { dealloc(data.cast(), layout) };
        guard.buffers.fetch_sub(len, Ordering::Relaxed);
    }
}

unsafe extern "C" fn release(guard: *const IsolateGuard) {
    // SAFETY: the pointer comes from `into_raw` in `params`; V8 calls this once, when no buffer is left.
    drop(unsafe { Arc::from_raw(guard) });
}

static ALLOCATOR: v8::RustAllocatorVtable<IsolateGuard> =
    v8::RustAllocatorVtable { allocate, allocate_uninitialized, free, drop: release };

/// Runs on the isolate's thread, between two steps of its JavaScript.
unsafe extern "C" fn interrupted(isolate: v8::UnsafeRawIsolatePtr, data: *mut c_void) {
    // SAFETY: `interrupt` has counted for this call, and V8 calls back at most once.
    let guard = unsafe { Arc::from_raw(data.cast::<IsolateGuard>().cast_const()) };
    // SAFETY: V8 passes the isolate that runs; its statistics may be read in an interrupt.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    guard.looking.store(false, Ordering::Relaxed);
    let used = guard.look(&mut isolate);
    let uncounted = used.external.saturating_sub(guard.buffers.load(Ordering::Relaxed));
    if uncounted > UNCOUNTED * guard.limit {
        guard.exceeded.store(true, Ordering::Relaxed);
        guard.want_end();
    }
    let spent = guard.uncharged.swap(0, Ordering::Relaxed);
    if spent > 0 && charge(&mut isolate, spent) {
        guard.want_end();
    }
    if guard.ending.load(Ordering::Relaxed) {
        let is_theirs = runs_user_code(&mut isolate);
        if is_theirs || guard.tries.fetch_add(1, Ordering::Relaxed) >= TRIES {
            guard.terminate(!is_theirs);
        }
    }
}

/// Whether the innermost function is the user's: the platform's own, a timer that is being set or a queue that is being worked off,
/// does not expect to end half-way.
fn runs_user_code(isolate: &mut v8::Isolate) -> bool {
    // Before that is there, the script's modules are evaluated.
    let Some(meter) = isolate.get_slot::<Rc<Meter>>().cloned() else { return true };
    v8::scope_with_context!(let scope, isolate, &meter.context);
    // With nothing on the stack, the next microtask is about to start. V8 does not look whether there is a frame.
    let stack = v8::StackTrace::current_stack_trace(scope, 1).filter(|stack| stack.get_frame_count() > 0);
    let Some(frame) = stack.and_then(|stack| stack.get_frame(scope, 0)) else { return true };
    let script = frame.get_script_name(scope).map(|name| name.to_rust_string_lossy(scope));
    !script.is_some_and(|script| is_internal(&script))
}

/// How the processor time of an isolate's events is counted; in a slot of the isolate.
pub(crate) struct Meter {
    /// The isolate's context.
    pub context: v8::Global<v8::Context>,
    /// The key of the current event in the continuation-preserved embedder data (js/events/context.js).
    pub event: v8::Global<v8::Symbol>,
    /// The property of an event, or of its cell, that counts milliseconds.
    pub cpu: v8::Global<v8::String>,
    /// The property of an event that holds its cell.
    pub cell: v8::Global<v8::String>,
    /// What an event may use, in milliseconds.
    pub limit: u64,
}

/// Adds `spent` milliseconds to what the current event has used. True when that is more than it may use.
fn charge(isolate: &mut v8::Isolate, spent: u64) -> bool {
    let Some(meter) = isolate.get_slot::<Rc<Meter>>().cloned() else { return false };
    // No JavaScript runs here: these are own data properties of objects that only js/events makes.
    v8::scope_with_context!(let scope, isolate, &meter.context);
    let async_context = scope.get_continuation_preserved_embedder_data();
    let Ok(async_context) = v8::Local::<v8::Object>::try_from(async_context) else { return false };
    let key = v8::Local::new(scope, &meter.event);
    let event = async_context.get(scope, key.into());
    let Some(Ok(mut event)) = event.map(v8::Local::<v8::Object>::try_from) else { return false };
    // What a cell uses counts from its last event on, as on the platform.
    let key = v8::Local::new(scope, &meter.cell);
    if let Some(Ok(cell)) = event.get(scope, key.into()).map(v8::Local::<v8::Object>::try_from) {
        event = cell;
    }
    let key = v8::Local::new(scope, &meter.cpu);
    let used = event.get(scope, key.into()).and_then(|used| used.uint32_value(scope)).unwrap_or(0);
    let used = u64::from(used) + spent;
    let total = v8::Integer::new_from_unsigned(scope, used.min(u64::from(u32::MAX)) as u32);
    event.set(scope, key.into(), total.into());
    used >= meter.limit
}
