//! The part of esbuild's metafile that is used here.

use indexmap::IndexMap;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Metafile {
    /// By path relative to the working directory; may end in a query.
    pub inputs: IndexMap<String, Input>,
    /// By path relative to the working directory.
    pub outputs: IndexMap<String, Output>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Input {}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    #[serde(default)]
    pub imports: Vec<Import>,
    #[serde(default)]
    pub exports: Vec<String>,
    pub entry_point: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Import {
    pub path: String,
    pub kind: String,
    #[serde(default)]
    pub external: bool,
}
