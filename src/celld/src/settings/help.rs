//! The table of settings, written for people: the end of `celld --help`, and `docs/configuration.md`.

use std::fmt::Write;

use super::table::{Group, Kind, SETTINGS, Setting, Status};

/// The environment section of the help.
pub(crate) fn environment_help() -> String {
    let mut text = String::from("Environment variables:\n");
    for group in Group::ALL {
        let _ = write!(text, "\n  {}:\n", group.title());
        for setting in in_group(group) {
            let _ = writeln!(text, "    {}", setting.variables.join(", "));
            let _ = writeln!(text, "        {}{}", mark(setting), setting.doc);
            let _ = writeln!(text, "        [default: {}]{}", setting.default, bounds(setting));
        }
    }
    text.push_str("\nA Boolean is 0 or 1. A value that is not allowed stops celld when it starts.\n");
    text
}

/// `docs/configuration.md`.
pub(crate) fn markdown() -> String {
    let mut text = String::from(
        "# Configuration\n\n\
         <!-- Written by `celld __settings-markdown` from src/celld/src/settings/table.rs; a test keeps it current. -->\n\n\
         `celld` reads its settings from the command line and from the environment; the command line wins. An unset\n\
         setting has its default. A value that is not allowed stops `celld` when it starts, with a message that names the\n\
         setting, the value and what is allowed. A Boolean is `0` or `1`.\n\n\
         *Planned* settings are not available yet: setting one is an error, because whoever sets it relies on it. *Planned\n\
         tuning* can change nothing but speed: setting one is a warning.\n",
    );
    for group in Group::ALL {
        let _ = write!(text, "\n## {}\n\n", group.title());
        text.push_str(
            "| setting | option | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n",
        );
        for setting in in_group(group) {
            let names: Vec<_> = setting.variables.iter().map(|name| format!("`{name}`")).collect();
            let option = setting
                .flag
                .as_ref()
                .map_or_else(String::new, |flag| format!("`--{} {}`", flag.long, flag.value));
            let _ = writeln!(
                text,
                "| {} | {option} | {} | {} | {}{} |",
                names.join(", "),
                setting.default,
                allowed(setting).unwrap_or_default(),
                mark(setting),
                setting.doc,
            );
        }
    }
    text
}

fn in_group(group: Group) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| setting.group == group)
}

fn mark(setting: &Setting) -> &'static str {
    match setting.status {
        Status::Works => "",
        Status::Planned => "(planned) ",
        Status::PlannedTuning => "(planned tuning) ",
    }
}

fn bounds(setting: &Setting) -> String {
    allowed(setting).map_or_else(String::new, |allowed| format!(" [allowed: {allowed}]"))
}

/// What a value may be, unless its kind says nothing.
fn allowed(setting: &Setting) -> Option<String> {
    match setting.kind {
        Kind::Text | Kind::Path | Kind::External => None,
        kind => Some(kind.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_page_is_current() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let written = std::fs::read_to_string(page).unwrap();
        assert!(written == markdown(), "run: celld __settings-markdown > docs/configuration.md");
    }
}
