//! Output rules that every command shares: data to stdout, messages to stderr, and when there is colour.

use std::io::{self, IsTerminal, Write};

/// stdout is closed: whoever read it has seen enough. The command stops, and that is a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stdout is closed")]
pub(crate) struct StdoutClosed;

/// Writes data to stdout.
///
/// # Errors
/// [`StdoutClosed`] for a closed pipe, so that [`crate::main`] ends successfully; every other error as it is.
pub(crate) fn print(data: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(data.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(StdoutClosed.into()),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to stdout")),
    }
}

/// Writes one message to stderr.
pub(crate) fn message(text: impl std::fmt::Display) {
    // Nobody can be told that stderr is closed.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether stderr gets colour.
pub(crate) fn stderr_colour() -> bool {
    // The conventions (no-color.org) say "set and not empty".
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    colour(set("NO_COLOR"), set("FORCE_COLOR"), io::stderr().is_terminal())
}

/// `NO_COLOR` wins over `FORCE_COLOR`, which wins over what the output is.
fn colour(no_color: bool, force_color: bool, is_terminal: bool) -> bool {
    !no_color && (force_color || is_terminal)
}

#[cfg(test)]
mod tests {
    use super::colour;

    #[test]
    fn no_color_wins_over_force_color_wins_over_the_terminal() {
        assert!(colour(false, false, true));
        assert!(!colour(false, false, false));
        assert!(colour(false, true, false));
        assert!(!colour(true, true, true));
        assert!(!colour(true, false, true));
    }
}
