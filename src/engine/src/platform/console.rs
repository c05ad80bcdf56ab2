//! `console`, uncaught exceptions and unhandled rejections: from JavaScript to the node's log.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::{OpState, SourceMapApplication, SourceMapper, op2, v8};

use super::errors::is_internal;
use super::modules::{display_name, display_stack};
use crate::host::{ConsoleLevel, SourcePosition};

/// Takes what user code prints and what goes wrong in it. Called on the isolate's thread, inside a call
/// from JavaScript: it must not enter the isolate.
pub trait ConsoleSink {
    /// One call of a console method, already formatted, without a final newline; or, at
    /// [`ConsoleLevel::Uncaught`], an exception with its stack. `position` is the place in the source.
    fn line(&self, level: ConsoleLevel, text: &str, position: Option<SourcePosition>);
}

/// What the ops here need, in `OpState`.
#[derive(Clone)]
pub(super) struct Console {
    pub(super) sink: Rc<dyn ConsoleSink>,
    pub(super) mapper: Rc<RefCell<SourceMapper>>,
}

/// How far up the stack the caller is looked for: `console`'s own frames are fewer.
const MAX_FRAMES: usize = 16;

/// The levels of `js/platform/console.js`.
fn level(number: i32) -> ConsoleLevel {
    match number {
        0 => ConsoleLevel::Debug,
        2 => ConsoleLevel::Warn,
        3 => ConsoleLevel::Error,
        _ => ConsoleLevel::Info,
    }
}

/// Prints one formatted message of a console method.
#[op2(nofast)]
pub(super) fn op_celld_console(
    scope: &mut v8::PinScope<'_, '_>,
    state: Rc<RefCell<OpState>>,
    #[smi] number: i32,
    #[string] text: &str,
) {
    let Some(console) = state.borrow().try_borrow::<Console>().cloned() else { return };
    let position = caller(scope).map(|(file, line, column)| mapped(&console.mapper, file, line, column));
    console.sink.line(level(number), &display_stack(text), position);
}

/// Reports an exception that nobody caught. The place is already that of the source.
#[op2(nofast)]
pub(super) fn op_celld_uncaught(
    state: Rc<RefCell<OpState>>,
    #[string] text: &str,
    #[string] file: &str,
    #[smi] line: u32,
    #[smi] column: u32,
) {
    let Some(console) = state.borrow().try_borrow::<Console>().cloned() else { return };
    let position =
        (!file.is_empty()).then(|| SourcePosition { file: display_name(file).to_owned(), line, column });
    console.sink.line(ConsoleLevel::Uncaught, &display_stack(text), position);
}

/// The innermost frame that belongs to the user: file, line and column of the bundle, 1-based.
fn caller(scope: &mut v8::PinScope<'_, '_>) -> Option<(String, u32, u32)> {
    let stack = v8::StackTrace::current_stack_trace(scope, MAX_FRAMES)?;
    (0..stack.get_frame_count()).find_map(|index| {
        let frame = stack.get_frame(scope, index)?;
        let file = frame.get_script_name(scope)?.to_rust_string_lossy(scope);
        if is_internal(&file) {
            return None;
        }
        Some((file, u32::try_from(frame.get_line_number()).ok()?, u32::try_from(frame.get_column()).ok()?))
    })
}

/// The place in the source file of a place in the bundle.
fn mapped(mapper: &RefCell<SourceMapper>, file: String, line: u32, column: u32) -> SourcePosition {
    let at = |file: &str, line, column| SourcePosition { file: display_name(file).to_owned(), line, column };
    // V8 has no position for some frames, and the mapper subtracts one.
    if line == 0 || column == 0 {
        return at(&file, line, column);
    }
    match mapper.borrow_mut().apply_source_map(&file, line, column) {
        SourceMapApplication::Unchanged => at(&file, line, column),
        SourceMapApplication::LineAndColumn { line_number, column_number } => {
            at(&file, line_number, column_number)
        }
        SourceMapApplication::LineAndColumnAndFileName { file_name, line_number, column_number } => {
            at(&file_name, line_number, column_number)
        }
    }
}
