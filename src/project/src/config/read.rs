//! From the keys in force to a [`Config`].

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::environment::{InForce, in_force};
use super::error::ConfigError;
use super::reader::Reader;
use super::rules::Rules;
use super::sections::{self, check_classes, check_names};
use super::source::Source;
use super::tree::Node;
use super::{Config, Loaded, Purpose};

pub(crate) fn read(
    source: &Source,
    root: &Node,
    env: Option<&str>,
    purpose: Purpose,
    today: &str,
) -> Result<Loaded, ConfigError> {
    let mut reader = Reader::new(source);
    let keys = in_force(&mut reader, root, env)?;
    let config = Section { reader: &mut reader, keys: &keys, root, env, purpose }.config(today);
    let Reader { mut errors, notes, mentions, .. } = reader;
    errors.sort_by_key(|error| (error.line, error.column));
    match config {
        Some(config) if errors.is_empty() => Ok(Loaded { config, notes, mentions }),
        _ => Err(ConfigError::Invalid(errors)),
    }
}

/// The state of one reading.
struct Section<'a, 's, 'n> {
    reader: &'a mut Reader<'s>,
    keys: &'a InForce<'n>,
    root: &'n Node,
    env: Option<&'a str>,
    purpose: Purpose,
}

impl<'s> Section<'_, 's, '_> {
    /// `None` when something is missing that has no default; the reader then holds an error.
    fn config(mut self, today: &str) -> Option<Config> {
        let root_dir = self.reader.source.path().parent().unwrap_or(Path::new("")).to_owned();
        let build =
            self.with("build", |reader, node, path| sections::build(reader, node, path, &root_dir)).flatten();
        let name = self.name();
        let main = self.main(&root_dir, build.is_some());
        let compatibility_date = self.compatibility_date(today);
        let compatibility_flags = self.with("compatibility_flags", Reader::strings).unwrap_or_default();
        let durable_objects = self
            .with("durable_objects", |r, n, p| sections::durable_objects(r, n, p, name.as_deref()))
            .unwrap_or_default();
        let services =
            self.with("services", |r, n, p| sections::services(r, n, p, name.as_deref())).unwrap_or_default();
        let cpu_ms = self.with("limits", sections::cpu_limit).flatten();
        let migrations = self.with("migrations", sections::migrations).unwrap_or_default();
        let vars = self.vars();
        let rules = self.with("rules", Rules::read).unwrap_or_default();
        let define = self.with("define", Reader::string_map).unwrap_or_default();
        let alias = self.with("alias", Reader::string_map).unwrap_or_default();
        let no_bundle = self.flag("no_bundle", false);
        self.find_additional_modules(no_bundle);
        check_names(self.reader, self.keys, &vars);
        check_classes(self.reader, self.keys, &durable_objects, &migrations);

        let mut path_of = |key: &str| self.text(key).map(|text| root_dir.join(text));
        let tsconfig = path_of("tsconfig");
        let base_dir = path_of("base_dir");
        let minify = self.flag("minify", false);
        let keep_names = self.flag("keep_names", true);
        let jsx_factory = self.text("jsx_factory");
        let jsx_fragment = self.text("jsx_fragment");
        // Nothing is read after this point, so that every mistake is found before the first early return.
        let main = main?;
        Some(Config {
            name: name?,
            module_root: base_dir.unwrap_or_else(|| main.parent().unwrap_or(&root_dir).to_owned()),
            main,
            compatibility_date: compatibility_date?,
            compatibility_flags,
            durable_objects,
            services,
            cpu_ms,
            migrations,
            vars,
            rules,
            define,
            alias,
            minify,
            keep_names,
            no_bundle,
            build,
            tsconfig,
            jsx_factory,
            jsx_fragment,
        })
    }

    /// Reads a key if it is there.
    fn with<T>(&mut self, key: &str, read: impl FnOnce(&mut Reader<'s>, &Node, &str) -> T) -> Option<T> {
        let (path, entry) = self.keys.get(key)?;
        Some(read(self.reader, &entry.node, path))
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.with(key, Reader::filled).flatten()
    }

    fn flag(&mut self, key: &str, default: bool) -> bool {
        self.with(key, Reader::boolean).flatten().unwrap_or(default)
    }

    fn missing(&mut self, key: &str, why: &str) {
        self.reader.error(&(self.root.span.start..self.root.span.start), key, format!("missing: {why}"));
    }

    /// Wrangler names the script of an environment `NAME-ENV` unless the environment has a name of its own.
    fn name(&mut self) -> Option<String> {
        let Some((path, entry)) = self.keys.get("name") else {
            if self.purpose == Purpose::Deploy {
                self.missing("name", "a deployment needs the script's name");
                return None;
            }
            return Some("worker".to_owned());
        };
        self.reader.mentions.name = self.reader.place(&entry.node.span, path);
        let name = self.reader.filled(&entry.node, path)?;
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if !name.chars().all(allowed) || name.starts_with('-') {
            let message =
                format!("\"{name}\" may have only lower-case letters, digits, - and _, and not begin with -");
            self.reader.error(&entry.node.span, path, message);
            return None;
        }
        match self.env {
            Some(env) if !self.keys.named_by_environment => Some(format!("{name}-{env}")),
            _ => Some(name),
        }
    }

    fn main(&mut self, root_dir: &Path, built: bool) -> Option<PathBuf> {
        let Some((path, entry)) = self.keys.get("main") else {
            self.missing("main", "name the Worker's entry point, such as \"src/index.ts\"");
            return None;
        };
        let relative = self.reader.filled(&entry.node, path)?;
        let main = root_dir.join(&relative);
        if main.extension().is_some_and(|extension| extension == "py") {
            self.reader.error(
                &entry.node.span,
                path,
                "Python Workers: not supported yet by this release of celld",
            );
            return None;
        }
        // A build command may be what makes the file.
        if !built && !main.is_file() {
            self.reader.error(&entry.node.span, path, format!("there is no file {}", main.display()));
            return None;
        }
        Some(main)
    }

    fn compatibility_date(&mut self, today: &str) -> Option<String> {
        let Some((path, entry)) = self.keys.get("compatibility_date") else {
            let why = "the Worker runs with the behaviour of that day, such as \"2026-01-15\"";
            if self.purpose == Purpose::Deploy {
                self.missing("compatibility_date", why);
                return None;
            }
            let start = self.root.span.start;
            self.reader.note(
                &(start..start),
                "compatibility_date",
                format!("missing: today's date, {today}, is used"),
            );
            return Some(today.to_owned());
        };
        let date = self.reader.filled(&entry.node, path)?;
        if !is_date(&date) {
            self.reader.error(
                &entry.node.span,
                path,
                format!("\"{date}\" is not a date in the form YYYY-MM-DD"),
            );
            return None;
        }
        Some(date)
    }

    fn vars(&mut self) -> IndexMap<String, serde_json::Value> {
        self.with("vars", |reader, node, path| {
            reader.table(node, path).iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect()
        })
        .unwrap_or_default()
    }

    fn find_additional_modules(&mut self, no_bundle: bool) {
        let Some((path, entry)) = self.keys.get("find_additional_modules") else { return };
        let on = self.reader.boolean(&entry.node, path) == Some(true);
        if on && !no_bundle {
            let message =
                "modules beside a bundle: not supported yet by this release of celld (no_bundle finds them)";
            self.reader.error(&entry.node.span, path, message);
        }
    }
}

/// A calendar date `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    if (year.len(), month.len(), day.len()) != (4, 2, 2)
        || !text.bytes().all(|b| b == b'-' || b.is_ascii_digit())
    {
        return false;
    }
    let (Ok(year), Ok(month), Ok(day)) = (year.parse::<u32>(), month.parse::<u32>(), day.parse::<u32>())
    else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn dates_are_of_the_calendar() {
        for good in ["2026-01-31", "2024-02-29", "2000-02-29"] {
            assert!(is_date(good), "{good}");
        }
        for bad in
            ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-1-01", "today", "+026-01-01"]
        {
            assert!(!is_date(bad), "{bad}");
        }
    }
}
