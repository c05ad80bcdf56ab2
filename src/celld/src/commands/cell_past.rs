//! `celld cell history` and `celld cell restore`: a cell's past as the bucket has it. Both only read the bucket, so they may run while
//! a node serves the cell.

use std::path::PathBuf;
use std::process::ExitCode;

use celld_bucket::Bucket;
use celld_ids::CellScope;
use celld_replica::{Bookmark, Moment, Point, Target, Timeline, format_time, parse_time, restore_to_file};
use clap::{ArgGroup, ArgMatches, Args, Command, FromArgMatches};

use crate::console;

pub(super) const HISTORY: &str = "history";
pub(super) const RESTORE: &str = "restore";

#[derive(Debug, Args)]
struct HistoryArgs {
    /// The cell, as Class:ID.
    #[arg(value_name = "CLASS:ID")]
    scope: CellScope,
    /// One JSON object for each line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true))]
struct RestoreArgs {
    /// The cell, as Class:ID.
    #[arg(value_name = "CLASS:ID")]
    scope: CellScope,
    /// The last transaction not later than this time: 2026-11-30T08:25:00Z, or milliseconds since 1970.
    #[arg(long, value_name = "TIME", group = "target", value_parser = time)]
    at: Option<u64>,
    /// The transaction of this bookmark.
    #[arg(long, value_name = "BOOKMARK", group = "target")]
    bookmark: Option<Bookmark>,
    /// The last transaction.
    #[arg(long, group = "target")]
    last: bool,
    /// The SQLite file to write.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Replace FILE when it exists.
    #[arg(long)]
    force: bool,
}

fn time(text: &str) -> Result<u64, String> {
    parse_time(text).ok_or_else(|| {
        "a time is written as 2026-11-30T08:25:00Z (RFC 3339), or as milliseconds since 1970".to_owned()
    })
}

pub(super) fn history_command() -> Command {
    HistoryArgs::augment_args(Command::new(HISTORY))
        .about("Lists the transactions that a cell can be restored to, with their times and bookmarks")
}

pub(super) fn restore_command() -> Command {
    RestoreArgs::augment_args(Command::new(RESTORE))
        .about("Writes a cell's database, as it was at an earlier moment, to a SQLite file")
}

pub(super) async fn history(bucket: &Bucket, matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let args = HistoryArgs::from_arg_matches(matches)?;
    let timeline = Timeline::read(bucket, &args.scope).await?;
    let mut text = String::new();
    for point in timeline.points() {
        text.push_str(&line(point, args.json));
        text.push('\n');
    }
    console::print(&text)?;
    if let Some(problem) = timeline.problem() {
        anyhow::bail!("{problem}; what comes after it cannot be restored");
    }
    let (points, unfolded) = (timeline.points().len(), timeline.unfolded());
    console::message(format_args!(
        "{points} points; {unfolded} of them are in the log of the cell's owner alone"
    ));
    Ok(ExitCode::SUCCESS)
}

fn line(point: &Point, json: bool) -> String {
    if json {
        return serde_json::json!({
            "transaction": point.txid.0,
            "timestampMs": point.timestamp_ms,
            "epoch": point.epoch.0,
            "bookmark": point.bookmark().to_string(),
        })
        .to_string();
    }
    format!("{}  {}", moment_of(point), point.bookmark())
}

/// `2026-11-30T08:25:00.000Z  transaction 17`.
fn moment_of(point: &Point) -> String {
    let time = match point.timestamp_ms {
        0 => "at an unknown time".to_owned(),
        ms => format_time(ms),
    };
    format!("{time}  transaction {}", point.txid.0)
}

pub(super) async fn restore(bucket: &Bucket, matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let args = RestoreArgs::from_arg_matches(matches)?;
    let target = match (args.at, args.bookmark) {
        (Some(time), _) => Target::Time(time),
        (_, Some(bookmark)) => Target::Bookmark(bookmark),
        _ => Target::Last,
    };
    let moment = restore_to_file(bucket, &args.scope, target, &args.output, args.force).await?;
    console::message(format_args!(
        "{} written: {}, {}",
        args.output.display(),
        args.scope,
        moment_of(&moment.point)
    ));
    if let Some(notice) = notice(&moment) {
        console::message(format_args!("celld: warning: {notice}"));
    }
    console::print(&format!("{}\n", moment.point.bookmark()))?;
    Ok(ExitCode::SUCCESS)
}

/// What to say when the transaction that was asked for may be a later one.
fn notice(moment: &Moment) -> Option<String> {
    let after = moment.after.filter(|_| !moment.exact)?;
    Some(format!(
        "the transactions after it are merged with those up to the next point and cannot be told apart: {}  {}",
        moment_of(&after),
        after.bookmark()
    ))
}

#[cfg(test)]
mod tests {
    use celld_ids::Epoch;
    use celld_replica::{Txid, bookmark_of};

    use super::*;

    fn point(txid: u64) -> Point {
        Point { txid: Txid(txid), timestamp_ms: 1_796_027_100_000, epoch: Epoch(2) }
    }

    #[test]
    fn a_point_is_one_line() {
        let bookmark = bookmark_of(Epoch(2), Txid(17)).to_string();
        let text = format!("2026-11-30T08:25:00.000Z  transaction 17  {bookmark}");
        assert_eq!(line(&point(17), false), text);
        let json: serde_json::Value = serde_json::from_str(&line(&point(17), true)).unwrap();
        assert_eq!((json["transaction"].as_u64(), json["bookmark"].as_str()), (Some(17), Some(&*bookmark)));
    }

    #[test]
    fn a_moment_that_was_merged_away_is_told() {
        let exact = Moment { point: point(1), exact: true, before: None, after: Some(point(9)) };
        assert_eq!(notice(&exact), None);
        let merged = Moment { exact: false, ..exact };
        assert!(notice(&merged).unwrap().contains("transaction 9"));
    }
}
