//! What the developer sees: one short line for each thing that happened, in colour when the terminal wants it.
//!
//! The listener's announcement goes to stdout (a script can wait for it), everything else to stderr, as for every
//! `celld` command. The node process writes the Worker's console to the same stderr by itself.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use owo_colors::{OwoColorize, Style};

/// Labels stand in a column of this many characters.
const LABEL: usize = 8;

/// The console of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    colour: bool,
}

impl Console {
    pub(crate) fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// The application answers at `address`.
    ///
    /// # Errors
    /// What stdout says, a closed pipe for one.
    pub(crate) fn ready(&self, address: SocketAddr, elapsed: Duration) -> io::Result<()> {
        let url = self.paint(format!("http://{address}"), Style::new().cyan().bold());
        let took = self.paint(format!("in {} ms", elapsed.as_millis()), Style::new().dimmed());
        let label = self.label("ready", Style::new().green().bold());
        let mut out = io::stdout().lock();
        writeln!(out, "{label}{url} {took}")?;
        out.flush()
    }

    /// A change is being served.
    pub(crate) fn adopted(&self, elapsed: Duration) {
        let took = self.paint(format!("{} ms", elapsed.as_millis()), Style::new().dimmed());
        self.line("reload", Style::new().green(), &format!("serving the change after {took}"));
    }

    /// Something that is neither progress nor an error.
    pub(crate) fn note(&self, message: &str) {
        self.line("note", Style::new().yellow(), message);
    }

    /// An error that keeps the change, or everything, from being served.
    pub(crate) fn error(&self, message: impl Display) {
        self.line("error", Style::new().red().bold(), &message.to_string());
    }

    fn line(&self, label: &str, style: Style, message: &str) {
        let mut text = String::new();
        for (number, line) in message.trim_end().lines().enumerate() {
            if number == 0 {
                text.push_str(&self.label(label, style));
            } else {
                text.extend(std::iter::repeat_n(' ', LABEL));
            }
            text.push_str(line);
            text.push('\n');
        }
        // Nobody can be told that stderr is closed.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn label(&self, label: &str, style: Style) -> String {
        self.paint(format!("{label:LABEL$}"), style)
    }

    fn paint(&self, text: String, style: Style) -> String {
        if self.colour { text.style(style).to_string() } else { text }
    }
}
