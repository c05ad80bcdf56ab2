//! What `deno_node` asks of its embedder, for a process without npm packages and without files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use deno_core::FastString;
use deno_core::url::Url;
use deno_error::JsErrorBox;
use deno_node::{NodeExtInitServices, NodeRequireLoader};
use deno_permissions::PermissionsContainer;
use node_resolver::errors::{
    PackageFolderResolveError, PackageFolderResolveErrorKind, PackageJsonLoadError, PackageNotFoundError,
};
use node_resolver::{InNpmPackageChecker, NpmPackageFolderResolver, UrlOrPathRef};
use sys_traits::impls::InMemorySys;
use sys_traits::{EnvSetCurrentDir as _, FsCreateDirAll as _};

use super::memfs::{BUNDLE_DIR, TEMP_DIR};

/// An in-memory system with the directories of [`super::memfs`], so that resolving a path against it
/// gives the same answer as the isolate's file system.
pub(super) fn memory_sys() -> InMemorySys {
    let sys = InMemorySys::default();
    // Nothing can fail here: the tree is new and in memory.
    let _ = sys.fs_create_dir_all(TEMP_DIR);
    let _ = sys.fs_create_dir_all(BUNDLE_DIR);
    let _ = sys.env_set_current_dir(BUNDLE_DIR);
    sys
}

/// The npm resolution of a process that has no npm packages: bundling happened before.
#[derive(Clone, Debug)]
pub(super) struct NoNpm;

impl InNpmPackageChecker for NoNpm {
    fn in_npm_package(&self, _specifier: &Url) -> bool {
        false
    }
}

impl NpmPackageFolderResolver for NoNpm {
    fn resolve_package_folder_from_package(
        &self,
        specifier: &str,
        referrer: &UrlOrPathRef,
    ) -> Result<PathBuf, PackageFolderResolveError> {
        let not_found = PackageNotFoundError {
            package_name: specifier.to_owned(),
            referrer: referrer.display(),
            referrer_extra: None,
        };
        Err(PackageFolderResolveError(Box::new(PackageFolderResolveErrorKind::PackageNotFound(not_found))))
    }

    fn resolve_types_package_folder(
        &self,
        _types_package_name: &str,
        _version: Option<&deno_semver::Version>,
        _referrer: Option<&UrlOrPathRef>,
    ) -> Option<PathBuf> {
        None
    }
}

/// `require` of files does not exist: our `node:module` serves built-in modules only.
struct NoRequire;

fn no_files() -> JsErrorBox {
    JsErrorBox::generic("require() can only load built-in modules")
}

impl NodeRequireLoader for NoRequire {
    fn ensure_read_permission<'a>(
        &self,
        _permissions: &mut PermissionsContainer,
        _path: Cow<'a, Path>,
    ) -> Result<Cow<'a, Path>, JsErrorBox> {
        Err(no_files())
    }

    fn load_text_file_lossy(&self, _path: &Path) -> Result<FastString, JsErrorBox> {
        Err(no_files())
    }

    fn is_maybe_cjs(&self, _specifier: &Url) -> Result<bool, PackageJsonLoadError> {
        Ok(false)
    }

    fn is_maybe_cjs_from_require(&self, _specifier: &Url) -> Result<bool, PackageJsonLoadError> {
        Ok(true)
    }
}

/// The services of one isolate. Without them `deno_node`'s resolution ops panic.
pub(super) fn node_services() -> NodeExtInitServices<NoNpm, NoNpm, InMemorySys> {
    let sys = memory_sys();
    let package_json = deno_maybe_sync::new_rc(node_resolver::PackageJsonResolver::new(sys.clone(), None));
    let resolver = node_resolver::NodeResolver::new(
        NoNpm,
        node_resolver::DenoIsBuiltInNodeModuleChecker,
        NoNpm,
        package_json.clone(),
        node_resolver::cache::NodeResolutionSys::new(sys.clone(), None),
        Default::default(),
    );
    NodeExtInitServices {
        node_require_loader: Rc::new(NoRequire),
        node_resolver: deno_maybe_sync::new_rc(resolver),
        pkg_json_resolver: package_json,
        sys,
    }
}
