//! `celld cell`: looks at cells. Here is `celld cell list`: the cells that the bucket knows.

use std::process::ExitCode;

use celld_bucket::Bucket;
use celld_ids::CellScope;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::cell_past;
use crate::console;
use crate::settings::{self, Settings};

pub(super) const NAME: &str = "cell";
const LIST: &str = "list";

/// Objects asked for in one request: the most that an S3 store returns.
const PAGE: usize = 1000;

/// Cells printed unless the caller says otherwise.
const DEFAULT_LIMIT: u64 = 1000;

#[derive(Debug, Args)]
struct ListArgs {
    /// Only the cells of this class.
    #[arg(value_name = "CLASS")]
    class: Option<String>,
    /// One JSON object for each line.
    #[arg(long)]
    json: bool,
    /// The most cells to print.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Continue after this cell.
    #[arg(long, value_name = "SCOPE")]
    after: Option<CellScope>,
    /// Print all cells, however many requests that takes.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

pub(super) fn command() -> Command {
    let list = ListArgs::augment_args(Command::new(LIST)).about("Lists the cells in a bucket, as Class:ID");
    Command::new(NAME)
        .about("Looks at cells and restores their past")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(
            [list, cell_past::history_command(), cell_past::restore_command()]
                .map(|command| settings::add_options(command, settings::BUCKET_OPTIONS)),
        )
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let Some((command, matches)) = matches.subcommand() else {
        anyhow::bail!("`celld cell` needs a subcommand")
    };
    let settings = Settings::load(matches)?;
    super::warn(&settings);
    let bucket = settings.bucket()?.open()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            LIST => list(&bucket, &ListArgs::from_arg_matches(matches)?).await,
            cell_past::HISTORY => cell_past::history(&bucket, matches).await,
            cell_past::RESTORE => cell_past::restore(&bucket, matches).await,
            other => anyhow::bail!("`celld cell {other}` has no implementation"),
        }
    })
}

async fn list(bucket: &Bucket, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let mut cells = Listing::new(args.class.as_deref(), args.after.as_ref())?;
    let limit = if args.all { u64::MAX } else { args.limit };
    let mut shown = 0_u64;
    let mut last: Option<CellScope> = None;
    while let Some(page) = cells.next_page(bucket).await? {
        let mut text = String::new();
        for scope in page {
            if shown == limit {
                console::print(&text)?;
                if let Some(last) = last {
                    console::message(format_args!(
                        "{shown} cells shown; more exist. Continue with --after {last}"
                    ));
                }
                return Ok(ExitCode::SUCCESS);
            }
            text.push_str(&line(&scope, args.json));
            text.push('\n');
            shown += 1;
            last = Some(scope);
        }
        console::print(&text)?;
        if args.all && cells.requests.is_multiple_of(10) {
            console::message(format_args!("{shown} cells so far, {} requests", cells.requests));
        }
    }
    if args.all {
        console::message(format_args!("{shown} cells, {} requests", cells.requests));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(scope: &CellScope, json: bool) -> String {
    if !json {
        return scope.to_string();
    }
    serde_json::json!({
        "scope": scope.to_string(),
        "class": scope.class(),
        "id": scope.id(),
        "reserved": scope.is_reserved(),
    })
    .to_string()
}

/// Where a listing of ownership records stands.
#[derive(Debug)]
struct Listing {
    prefix: String,
    after: Option<String>,
    finished: bool,
    requests: u64,
}

impl Listing {
    fn new(class: Option<&str>, after: Option<&CellScope>) -> anyhow::Result<Self> {
        if let (Some(class), Some(after)) = (class, after)
            && after.class() != class
        {
            anyhow::bail!("--after {after} is not of the class {class}");
        }
        let prefix = match class {
            Some(class) => format!("cells/{}", CellScope::new(class, "0")?.class()),
            None => "cells".to_owned(),
        };
        Ok(Self { prefix, after: after.map(owner_key), finished: false, requests: 0 })
    }

    /// The cells of the next request, in the order of the store; `None` after the last one.
    async fn next_page(&mut self, bucket: &Bucket) -> anyhow::Result<Option<Vec<CellScope>>> {
        if self.finished {
            return Ok(None);
        }
        let objects = bucket.list(&self.prefix, self.after.as_deref(), PAGE).await?;
        self.requests += 1;
        self.finished = objects.len() < PAGE;
        self.after = objects.last().map(|object| skip_history(&object.key));
        Ok(Some(objects.iter().filter_map(|object| scope_of(&object.key)).collect()))
    }
}

fn owner_key(scope: &CellScope) -> String {
    format!("cells/{}/{}/owner.json", scope.class(), scope.id())
}

/// The cell whose ownership record `key` is.
fn scope_of(key: &str) -> Option<CellScope> {
    let (class, id) = key.strip_prefix("cells/")?.strip_suffix("/owner.json")?.split_once('/')?;
    CellScope::new(class, id).ok()
}

/// Where to continue after `key`. A cell's history lies before its ownership record: a page that ends in the middle of it
/// continues behind it (`0` is the character after `/`), so a long history costs one request, not one for each page.
fn skip_history(key: &str) -> String {
    let mut segments = key.split('/');
    match (segments.next(), segments.next(), segments.next(), segments.next(), segments.next()) {
        (Some("cells"), Some(class), Some(id), Some("ltx"), Some(_)) => format!("cells/{class}/{id}/ltx0"),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn scopes(bucket: &Bucket, class: Option<&str>, after: Option<&str>) -> Vec<String> {
        let after = after.map(|after| after.parse().unwrap());
        let mut listing = Listing::new(class, after.as_ref()).unwrap();
        let mut found = Vec::new();
        while let Some(page) = listing.next_page(bucket).await.unwrap() {
            found.extend(page.iter().map(ToString::to_string));
        }
        found
    }

    #[tokio::test]
    async fn cells_are_found_behind_any_amount_of_history_and_nothing_else_is() {
        let bucket = Bucket::in_memory();
        let put = async |key: &str| drop(bucket.put(key, "x".into()).await.unwrap());
        for entry in 0..2500 {
            put(&format!("cells/Room/a/ltx/e1/{entry:08}")).await;
        }
        for cell in ["Room/a", "Room/a-1", "Room/b", "Rooms/x", "__kv/n"] {
            put(&format!("cells/{cell}/owner.json")).await;
        }
        for other in ["cells/Room/c/ltx/e1/1", "nodes/n.json", "log/s/1"] {
            put(other).await;
        }
        let all = scopes(&bucket, None, None).await;
        assert_eq!(all, ["Room:a-1", "Room:a", "Room:b", "Rooms:x", "__kv:n"]);
        assert_eq!(scopes(&bucket, Some("Room"), Some("Room:a-1")).await, ["Room:a", "Room:b"]);
        assert_eq!(scopes(&bucket, None, Some("Room:b")).await, ["Rooms:x", "__kv:n"]);
        assert!(Listing::new(Some("Room"), Some(&"Other:a".parse().unwrap())).is_err());
    }

    #[test]
    fn the_json_form_marks_reserved_cells() {
        let scope = "__kv:n".parse().unwrap();
        assert_eq!(line(&scope, true), r#"{"scope":"__kv:n","class":"__kv","id":"n","reserved":true}"#);
        assert_eq!(line(&scope, false), "__kv:n");
    }
}
