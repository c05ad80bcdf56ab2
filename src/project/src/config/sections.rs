//! The keys with a structure of their own.

use std::collections::HashSet;
use std::path::Path;

use indexmap::IndexMap;

use super::environment::InForce;
use super::reader::{Reader, join};
use super::tree::{Node, Value};
use super::{Borrowed, CustomBuild, DurableObjectBinding, Migration, ServiceBinding};

const NOT_YET: &str = "not supported yet by this release of celld";

pub(crate) fn durable_objects(
    reader: &mut Reader<'_>,
    node: &Node,
    path: &str,
    script: Option<&str>,
) -> Vec<DurableObjectBinding> {
    let fields = reader.fields(node, path, &["bindings"]);
    let Some(list) = fields.get("bindings") else { return Vec::new() };
    let path = fields.path("bindings");
    let mut bindings = Vec::new();
    for (index, item) in reader.array(&list.node, &path).iter().enumerate() {
        let path = format!("{path}[{index}]");
        let fields = reader.fields(item, &path, &["name", "class_name", "script_name", "environment"]);
        if !matches!(item.value, Value::Table(_)) {
            continue;
        }
        let other = fields.get("script_name").and_then(|entry| {
            let path = fields.path("script_name");
            let named = reader.filled(&entry.node, &path).filter(|named| Some(named.as_str()) != script)?;
            Some((named, reader.place(&entry.node.span, &path)))
        });
        if let Some(environment) = fields.get("environment") {
            let path = fields.path("environment");
            reader.error(&environment.key_span, &path, format!("a class of another environment: {NOT_YET}"));
        }
        let name = reader.required(&fields, item, "name");
        let class = reader.required(&fields, item, "class_name");
        if let (Some(name), Some(class)) = (name, class) {
            let span = fields.get("class_name").map_or(&item.span, |entry| &entry.node.span);
            let path = fields.path("class_name");
            if class.starts_with("__") {
                reader.error(span, &path, "class names that begin with __ are reserved");
                continue;
            }
            let class_place = reader.place(span, &path);
            let script = match other {
                Some((script, script_place)) => {
                    let (script, class) = (script.clone(), class.clone());
                    let borrowed = Borrowed { script: script.clone(), script_place, class, class_place };
                    reader.mentions.borrowed.push(borrowed);
                    Some(script)
                }
                None => {
                    reader.mentions.defines.push((class.clone(), class_place));
                    None
                }
            };
            bindings.push(DurableObjectBinding { name, class, script });
        }
    }
    bindings
}

/// The longest CPU time that the platform lets a Worker have, in milliseconds.
const MAX_CPU_MS: u64 = 300_000;

pub(crate) fn cpu_limit(reader: &mut Reader<'_>, node: &Node, path: &str) -> Option<u64> {
    let fields = reader.fields(node, path, &["cpu_ms", "subrequests"]);
    if let Some(entry) = fields.get("subrequests") {
        reader.note(&entry.key_span, &fields.path("subrequests"), "celld does not count subrequests");
    }
    let entry = fields.get("cpu_ms")?;
    let limit = match &entry.node.value {
        Value::Number(number) => number.as_u64().filter(|ms| (1..=MAX_CPU_MS).contains(ms)),
        _ => None,
    };
    if limit.is_none() {
        let message = format!("expected a whole number of milliseconds between 1 and {MAX_CPU_MS}");
        reader.error(&entry.node.span, &fields.path("cpu_ms"), message);
    }
    limit
}

pub(crate) fn services(
    reader: &mut Reader<'_>,
    node: &Node,
    path: &str,
    script: Option<&str>,
) -> Vec<ServiceBinding> {
    let mut bindings = Vec::new();
    for (index, item) in reader.array(node, path).iter().enumerate() {
        let path = format!("{path}[{index}]");
        let known = ["binding", "service", "entrypoint", "props", "environment", "remote"];
        let fields = reader.fields(item, &path, &known);
        if !matches!(item.value, Value::Table(_)) {
            continue;
        }
        for key in ["environment", "remote"] {
            if let Some(entry) = fields.get(key) {
                reader.error(&entry.key_span, &fields.path(key), format!("a service elsewhere: {NOT_YET}"));
            }
        }
        let name = reader.required(&fields, item, "binding");
        let service = reader.required(&fields, item, "service");
        let entrypoint = fields.get("entrypoint").map(|entry| {
            let path = fields.path("entrypoint");
            reader.filled(&entry.node, &path)
        });
        let props = fields.get("props").map(|entry| {
            reader.table(&entry.node, &fields.path("props"));
            entry.node.to_json()
        });
        if let (Some(name), Some(service)) = (name, service) {
            let service = Some(service).filter(|service| Some(service.as_str()) != script);
            if let Some(service) = &service {
                let span = fields.get("service").map_or(&item.span, |entry| &entry.node.span);
                let place = reader.place(span, &fields.path("service"));
                reader.mentions.services.push((service.clone(), place));
            }
            let entrypoint = entrypoint.flatten().unwrap_or_else(|| "default".to_owned());
            let props = props.unwrap_or_else(|| serde_json::json!({}));
            bindings.push(ServiceBinding { name, service, entrypoint, props });
        }
    }
    bindings
}

pub(crate) fn migrations(reader: &mut Reader<'_>, node: &Node, path: &str) -> Vec<Migration> {
    let mut migrations: Vec<Migration> = Vec::new();
    for (index, item) in reader.array(node, path).iter().enumerate() {
        let path = format!("{path}[{index}]");
        let fields = reader.fields(
            item,
            &path,
            &[
                "tag",
                "new_classes",
                "new_sqlite_classes",
                "renamed_classes",
                "deleted_classes",
                "transferred_classes",
            ],
        );
        if !matches!(item.value, Value::Table(_)) {
            continue;
        }
        for (key, what) in [
            ("renamed_classes", "renaming a class"),
            ("deleted_classes", "deleting a class"),
            ("transferred_classes", "taking over a class of another script"),
        ] {
            if let Some(entry) = fields.get(key).filter(|entry| !entry.node.is_blank()) {
                reader.error(&entry.key_span, &fields.path(key), format!("{what}: {NOT_YET}"));
            }
        }
        let mut new_classes = Vec::new();
        if let Some(entry) = fields.get("new_sqlite_classes") {
            new_classes.extend(introduced(reader, &entry.node, &fields.path("new_sqlite_classes")));
        }
        if let Some(entry) = fields.get("new_classes") {
            let path = fields.path("new_classes");
            new_classes.extend(introduced(reader, &entry.node, &path));
            reader.note(
                &entry.key_span,
                &path,
                "the same as new_sqlite_classes: every cell has a SQLite database",
            );
        }
        let Some(tag) = reader.required(&fields, item, "tag") else { continue };
        if migrations.iter().any(|earlier| earlier.tag == tag) {
            let span = fields.get("tag").map_or(&item.span, |entry| &entry.node.span);
            reader.error(span, &fields.path("tag"), format!("another migration has the tag \"{tag}\""));
        }
        migrations.push(Migration { tag, new_classes });
    }
    migrations
}

/// The classes of a migration.
fn introduced(reader: &mut Reader<'_>, node: &Node, path: &str) -> Vec<String> {
    let classes = reader.strings(node, path);
    let place = reader.place(&node.span, path);
    reader.mentions.defines.extend(classes.iter().map(|class| (class.clone(), place.clone())));
    classes
}

pub(crate) fn build(reader: &mut Reader<'_>, node: &Node, path: &str, root: &Path) -> Option<CustomBuild> {
    let fields = reader.fields(node, path, &["command", "cwd", "watch_dir"]);
    let mut watch_dirs = Vec::new();
    if let Some(entry) = fields.get("watch_dir") {
        let path = fields.path("watch_dir");
        match entry.node.value {
            Value::Array(_) => watch_dirs.extend(reader.strings(&entry.node, &path)),
            _ => watch_dirs.extend(reader.filled(&entry.node, &path)),
        }
    } else {
        watch_dirs.push("src".to_owned());
    }
    let cwd = fields.get("cwd").and_then(|entry| reader.filled(&entry.node, &fields.path("cwd")));
    let command = fields.get("command").filter(|entry| !entry.node.is_blank())?;
    let command = reader.filled(&command.node, &fields.path("command"))?;
    Some(CustomBuild {
        command,
        cwd: cwd.map_or_else(|| root.to_owned(), |cwd| root.join(cwd)),
        watch_dirs: watch_dirs.into_iter().map(|dir| root.join(dir)).collect(),
    })
}

/// Two bindings cannot be the same property of `env`.
pub(crate) fn check_names(
    reader: &mut Reader<'_>,
    keys: &InForce<'_>,
    vars: &IndexMap<String, serde_json::Value>,
) {
    let mut lists = Vec::new();
    if let Some((path, objects)) = keys.get("durable_objects")
        && let Some(bindings) = child(&objects.node, "bindings")
    {
        lists.push((join(path, "bindings"), bindings, "name"));
    }
    if let Some((path, services)) = keys.get("services") {
        lists.push((path.to_owned(), &services.node, "binding"));
    }
    let named = lists.iter().flat_map(|(path, list, key)| {
        let items: &[Node] = if let Value::Array(items) = &list.value { items } else { &[] };
        items
            .iter()
            .enumerate()
            .filter_map(move |(index, item)| Some((format!("{path}[{index}].{key}"), child(item, key)?)))
    });
    let mut seen = HashSet::new();
    for (path, name) in named {
        let Value::String(text) = &name.value else { continue };
        if vars.contains_key(text) {
            reader.error(&name.span, &path, format!("vars has a variable \"{text}\" too"));
        } else if !seen.insert(text.as_str()) {
            reader.error(&name.span, &path, format!("another binding is named \"{text}\""));
        }
    }
}

/// Wrangler lets a class run in development before a migration introduces it, and says so.
pub(crate) fn check_classes(
    reader: &mut Reader<'_>,
    keys: &InForce<'_>,
    bindings: &[DurableObjectBinding],
    migrations: &[Migration],
) {
    let Some((path, entry)) = keys.get("durable_objects") else { return };
    let mut missing: Vec<&str> = Vec::new();
    for binding in bindings.iter().filter(|binding| binding.script.is_none()) {
        let introduced = migrations.iter().any(|migration| migration.new_classes.contains(&binding.class));
        if !introduced && !missing.contains(&binding.class.as_str()) {
            missing.push(&binding.class);
        }
    }
    if !missing.is_empty() {
        let message = format!(
            "no migration introduces {}; Cloudflare needs one: {{\"tag\": \"v1\", \"new_sqlite_classes\": [\"{}\"]}}",
            missing.join(", "),
            missing.join("\", \"")
        );
        reader.note(&entry.key_span, path, message);
    }
}

fn child<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.value {
        Value::Table(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node),
        _ => None,
    }
}
