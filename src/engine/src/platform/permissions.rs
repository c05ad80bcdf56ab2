//! What Deno's own permission checks allow an isolate.

use std::sync::Arc;

use deno_permissions::{
    Permissions, PermissionsContainer, PermissionsFromOptionsError, PermissionsOptions,
    RuntimePermissionDescriptorParser,
};

use super::node_services::memory_sys;

/// The permissions of an isolate: all of its own (in-memory) files, the network except `deny_net`, and
/// nothing else.
///
/// Reading and writing are allowed because every path operation ends in [`super::memfs`]. Each entry of
/// `deny_net` is a `host`, `host:port` or a subnet; Deno checks it again on every resolved address.
pub(super) fn container(deny_net: &[String]) -> Result<PermissionsContainer, PermissionsFromOptionsError> {
    // The parser resolves paths; on an in-memory system it never asks the host.
    let parser = Arc::new(RuntimePermissionDescriptorParser::new(memory_sys()));
    // An empty list means "everything of this kind"; `None` means nothing.
    let everything = || Some(Vec::new());
    let options = PermissionsOptions {
        allow_read: everything(),
        allow_write: everything(),
        allow_net: everything(),
        deny_net: (!deny_net.is_empty()).then(|| deny_net.to_vec()),
        // For `tls.rootCertificates`.
        allow_sys: Some(vec!["ca".to_owned()]),
        prompt: false,
        ..Default::default()
    };
    let permissions = Permissions::from_options(parser.as_ref(), &options)?;
    Ok(PermissionsContainer::new(parser, permissions))
}
