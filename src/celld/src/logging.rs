//! Where the node's log and the Worker's console go: stderr.

use std::fmt;

use celld_node::CONSOLE_TARGET;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::registry::LookupSpan;

/// The log of a production node: time, level, target and fields; filtered by `RUST_LOG`, else from `info` on.
pub(crate) fn production(colour: bool) -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(colour)
        .with_env_filter(filter("info")?)
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start the log: {error}"))
}

/// The log of `celld dev`: the Worker's console as it is, and the node's errors, or all of it with `--logs`.
pub(crate) fn development(logs: bool, colour: bool) -> anyhow::Result<()> {
    // The answer to `POST /reload` carries the reason why a deployment was not adopted, and the supervisor shows it.
    let quiet = format!("error,{CONSOLE_TARGET}=trace,celld_node::internal=off");
    let filter =
        if logs { filter(&format!("info,{CONSOLE_TARGET}=trace"))? } else { EnvFilter::try_new(quiet)? };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(colour)
        .with_env_filter(filter)
        .event_format(ConsoleFormat)
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start the log: {error}"))
}

fn filter(default: &str) -> anyhow::Result<EnvFilter> {
    match std::env::var("RUST_LOG") {
        Ok(filter) if !filter.trim().is_empty() => EnvFilter::try_new(&filter)
            .map_err(|error| anyhow::anyhow!("RUST_LOG is {filter:?}, which is no log filter: {error}")),
        _ => Ok(EnvFilter::try_new(default)?),
    }
}

/// One line for each event, made for reading: no time, no target, the level only where it is not the console's own.
struct ConsoleFormat;

const DIMMED: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const RESET: &str = "\x1b[0m";

impl<S, N> FormatEvent<S, N> for ConsoleFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let level = *metadata.level();
        let colour = writer.has_ansi_escapes();
        let style = match level {
            Level::ERROR if colour => RED,
            Level::WARN if colour => YELLOW,
            Level::DEBUG | Level::TRACE if colour => DIMMED,
            _ => "",
        };
        let (dimmed, reset) = if colour { (DIMMED, RESET) } else { ("", "") };
        if metadata.target() != CONSOLE_TARGET {
            write!(writer, "{dimmed}node {}{reset} ", level.as_str().to_ascii_lowercase())?;
        }
        let end = if style.is_empty() { "" } else { RESET };
        write!(writer, "{style}{}{end}", fields.message)?;
        if !fields.rest.is_empty() {
            write!(writer, " {dimmed}{}{reset}", fields.rest.trim_end())?;
        }
        writeln!(writer)
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    rest: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        use fmt::Write;
        // Writing into a string has no failure.
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            // The place of a console call needs no name.
            "at" => write!(self.rest, "{value} "),
            name => write!(self.rest, "{name}={value} "),
        };
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }
}
