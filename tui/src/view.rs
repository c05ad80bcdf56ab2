//! The table.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Row as TableRow, Table};

use crate::sample::{Fleet, Row};

const HEADINGS: [&str; 10] = [
    "NODE",
    "ADDRESS",
    "STATUS",
    "CELLS",
    "RESIDENT",
    "CONNS",
    "EVENTS",
    "COMMITS/S",
    "BACKLOG",
    "DEPLOYMENT",
];
const WIDTHS: [Constraint; 10] = [
    Constraint::Min(8),
    Constraint::Min(15),
    Constraint::Min(10),
    Constraint::Length(8),
    Constraint::Length(8),
    Constraint::Length(6),
    Constraint::Length(6),
    Constraint::Length(9),
    Constraint::Length(9),
    Constraint::Min(12),
];

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, fleet: &Fleet) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    let sum = |count: fn(&Row) -> u64| fleet.rows.values().map(count).sum::<u64>();
    let cells = sum(|row| row.state.as_ref().map_or(0, |s| s.owned_cells));
    let title = format!("celld top: {} nodes, {cells} cells", fleet.rows.len());
    frame.render_widget(Line::from(title).bold(), head);
    let table = Table::new(fleet.rows.iter().map(|(address, row)| line(address, row)), WIDTHS)
        .header(TableRow::new(HEADINGS).style(Style::new().bold().dim()));
    frame.render_widget(table, body);
    let foot_line = match &fleet.error {
        Some(error) => Line::from(error.as_str()).fg(Color::Red),
        None => Line::from("q quits").dim(),
    };
    frame.render_widget(foot_line, foot);
}

fn line<'a>(address: &'a str, row: &'a Row) -> TableRow<'a> {
    let state = match &row.state {
        Ok(state) => state,
        Err(error) => {
            return TableRow::new(["?".to_owned(), address.to_owned(), error.clone()]).fg(Color::Red);
        }
    };
    let (status, colour) = match state {
        s if s.log.failed.is_some() => ("fenced", Color::Red),
        s if s.draining => ("stopping", Color::Yellow),
        s if !s.healthy => ("not ready", Color::Yellow),
        s if s.restoring > 0 => ("restoring", Color::Cyan),
        s if s.moving_cells > 0 => ("adopting", Color::Cyan),
        _ => ("ok", Color::Green),
    };
    TableRow::new([
        state.node.clone(),
        address.to_owned(),
        status.to_owned(),
        state.owned_cells.to_string(),
        state.resident_cells.to_string(),
        state.connections.to_string(),
        state.events.to_string(),
        row.commits_per_second.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")),
        bytes(state.log.backlog_bytes),
        state.deployment.clone().unwrap_or_else(|| format!("none (celld {})", state.version)),
    ])
    .fg(if colour == Color::Green && state.log.appended == state.log.durable {
        Color::Reset
    } else {
        colour
    })
}

fn bytes(n: u64) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{} KiB", n / 1024),
        _ => format!("{} MiB", n / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    #[test]
    fn an_unreachable_node_is_named_with_the_reason() {
        let mut fleet = Fleet::default();
        let down = ("10.0.0.1:8081".to_owned(), Err("connection refused".to_owned()));
        fleet.update([down].into_iter(), std::time::Instant::now());
        let mut terminal = Terminal::new(TestBackend::new(120, 6)).unwrap();
        terminal.draw(|frame| draw(frame, &fleet)).unwrap();
        let text = terminal.backend().to_string();
        assert!(text.contains("1 nodes, 0 cells"), "{text}");
        assert!(text.contains("10.0.0.1:8081") && text.contains("connectio"), "{text}");
    }
}
