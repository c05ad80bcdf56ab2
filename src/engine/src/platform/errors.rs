//! Errors of user code as the developer should read them.

use deno_core::error::{CoreError, CoreErrorKind, JsError, JsStackFrame};

use super::modules::{display_name, display_stack};
use crate::host::SourcePosition;

/// An error thrown by user code, in positions of the source files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{stack}")]
pub struct UserError {
    /// "Class: message", one line unless the message itself has more.
    pub message: String,
    /// `message` followed by one indented line for each frame, the causes after it.
    pub stack: String,
    /// The innermost frame of the user's own code.
    pub position: Option<SourcePosition>,
}

impl UserError {
    /// The report of a JavaScript exception.
    pub fn from_js(error: &JsError) -> UserError {
        let mut stack = String::new();
        render(error, &mut stack);
        UserError { message: headline(error), stack, position: error.frames.iter().find_map(user_position) }
    }

    /// The report of anything that loading or running a script can end with.
    pub fn from_core(error: &CoreError) -> UserError {
        match &*error.0 {
            CoreErrorKind::Js(js) => UserError::from_js(js),
            CoreErrorKind::CouldNotExecute { error, .. } => match &**error {
                CoreErrorKind::Js(js) => UserError::from_js(js),
                other => UserError::plain(other.to_string()),
            },
            other => UserError::plain(other.to_string()),
        }
    }

    fn plain(message: String) -> UserError {
        let message = display_stack(&message).into_owned();
        UserError { stack: message.clone(), message, position: None }
    }
}

/// `exception_message` begins with "Uncaught ", which is for the reporter to say.
fn headline(error: &JsError) -> String {
    let message = error.exception_message.as_str();
    let message = message.strip_prefix("Uncaught ").unwrap_or(message);
    message.strip_prefix("(in promise) ").unwrap_or(message).to_owned()
}

fn render(error: &JsError, out: &mut String) {
    out.push_str(&headline(error));
    for frame in &error.frames {
        // The runtime's own files say nothing to the developer.
        if is_of_platform(frame) {
            continue;
        }
        out.push_str("\n    at ");
        out.push_str(&describe(frame));
    }
    for inner in error.aggregated.iter().flatten() {
        out.push_str("\n  ");
        render(inner, out);
    }
    if let Some(cause) = &error.cause {
        out.push_str("\nCaused by: ");
        render(cause, out);
    }
}

/// Whether `file`, as V8 names a script, is the platform's own.
pub(super) fn is_internal(file: &str) -> bool {
    file.starts_with("ext:") || file.starts_with("node:")
}

fn is_of_platform(frame: &JsStackFrame) -> bool {
    frame.file_name.as_deref().is_some_and(is_internal)
}

fn user_position(frame: &JsStackFrame) -> Option<SourcePosition> {
    if is_of_platform(frame) {
        return None;
    }
    Some(SourcePosition {
        file: display_name(frame.file_name.as_deref()?).to_owned(),
        line: u32::try_from(frame.line_number?).ok()?,
        column: u32::try_from(frame.column_number?).ok()?,
    })
}

/// "async Counter.fetch (src/index.ts:3:9)", the notation of V8.
fn describe(frame: &JsStackFrame) -> String {
    let place = match (frame.file_name.as_deref(), frame.line_number, frame.column_number) {
        (Some(file), Some(line), Some(column)) => format!("{}:{line}:{column}", display_name(file)),
        (Some(file), ..) => display_name(file).to_owned(),
        (None, ..) if frame.is_native => "native".to_owned(),
        (None, ..) => "<anonymous>".to_owned(),
    };
    let mut name = String::new();
    if frame.is_async {
        name.push_str("async ");
    }
    if frame.is_promise_all {
        name.push_str(&format!("Promise.all (index {})", frame.promise_index.unwrap_or_default()));
        return name;
    }
    if frame.is_constructor {
        name.push_str("new ");
    }
    match (frame.function_name.as_deref(), frame.type_name.as_deref()) {
        (Some(function), Some(class))
            if !frame.is_top_level.unwrap_or(false)
                && !frame.is_constructor
                && !function.starts_with(class) =>
        {
            name.push_str(&format!("{class}.{function}"));
        }
        (Some(function), _) => name.push_str(function),
        (None, _) => {}
    }
    if name.is_empty() || name.ends_with(' ') {
        format!("{name}{place}")
    } else {
        format!("{name} ({place})")
    }
}
