//! Where the output of user code goes.

use celld_engine::host::{ConsoleLevel, ConsoleLine};

use crate::config::CONSOLE_TARGET;

/// Takes the output of user code. Called on the shards' threads: it must not block.
pub trait ConsoleOutput: Send + Sync + 'static {
    /// One line or block.
    fn line(&self, line: ConsoleLine);
}

/// `text` with the word in front that V8 gives some of them and not others.
fn uncaught(text: &str) -> std::borrow::Cow<'_, str> {
    if text.starts_with("Uncaught ") { text.into() } else { format!("Uncaught {text}").into() }
}

/// Output as events of the node's own log, with the target [`CONSOLE_TARGET`].
pub struct LogOutput;

impl ConsoleOutput for LogOutput {
    fn line(&self, line: ConsoleLine) {
        let ConsoleLine { level, script: _, text, position } = line;
        let at = position.map(|p| tracing::field::display(format!("{}:{}:{}", p.file, p.line, p.column)));
        match level {
            ConsoleLevel::Debug => tracing::debug!(target: CONSOLE_TARGET, at, "{text}"),
            ConsoleLevel::Info => tracing::info!(target: CONSOLE_TARGET, at, "{text}"),
            ConsoleLevel::Warn => tracing::warn!(target: CONSOLE_TARGET, at, "{text}"),
            ConsoleLevel::Error => tracing::error!(target: CONSOLE_TARGET, at, "{text}"),
            ConsoleLevel::Uncaught => tracing::error!(target: CONSOLE_TARGET, at, "{}", uncaught(&text)),
        }
    }
}
