//! Where esbuild is.
//!
//! Only the native program counts: the launcher that npm may put in its place is JavaScript, and starting
//! Node.js costs more than the whole build.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::BundleError;

/// A usable esbuild.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Esbuild {
    /// The native executable.
    pub path: PathBuf,
}

/// Looks for esbuild: `CELLD_ESBUILD`, beside the running celld, in `node_modules` of the project and of the
/// directories above it, on `PATH`.
///
/// The project's own comes before `PATH` because its version is the one that the project chose.
pub fn find_esbuild(root: &Path) -> Result<Esbuild, BundleError> {
    let exe = std::env::current_exe().ok().and_then(|exe| exe.canonicalize().ok());
    Search {
        explicit: std::env::var_os("CELLD_ESBUILD").filter(|value| !value.is_empty()).map(PathBuf::from),
        beside: exe.as_deref().and_then(Path::parent).map(Path::to_owned),
        root: root.to_owned(),
        path: std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
    }
    .run()
}

/// The places to look in, apart from the process's environment.
struct Search {
    explicit: Option<PathBuf>,
    beside: Option<PathBuf>,
    root: PathBuf,
    path: Vec<PathBuf>,
}

impl Search {
    fn run(&self) -> Result<Esbuild, BundleError> {
        if let Some(path) = &self.explicit {
            return match is_executable(path) {
                true => Ok(Esbuild { path: path.clone() }),
                false => Err(BundleError::EsbuildUnusable { path: path.clone() }),
            };
        }
        let mut scripts = Vec::new();
        for candidate in self.candidates() {
            if !is_executable(&candidate) {
                continue;
            }
            if !is_script(&candidate) {
                return Ok(Esbuild { path: candidate });
            }
            // The launcher stands in `node_modules/esbuild/bin`, the native program in
            // `node_modules/@esbuild/PLATFORM/bin`.
            let modules =
                candidate.canonicalize().ok().and_then(|real| Some(real.ancestors().nth(3)?.to_owned()));
            if let Some(native) =
                modules.map(|dir| dir.join(native_in_modules())).filter(|native| is_executable(native))
            {
                return Ok(Esbuild { path: native });
            }
            scripts.push(candidate);
        }
        Err(BundleError::EsbuildMissing { scripts })
    }

    fn candidates(&self) -> impl Iterator<Item = PathBuf> {
        let modules = self.root.ancestors().map(|dir| dir.join("node_modules"));
        let in_modules = modules.flat_map(|dir| [dir.join(native_in_modules()), dir.join(".bin/esbuild")]);
        let beside = self.beside.iter().map(|dir| dir.join("esbuild"));
        beside.chain(in_modules).chain(self.path.iter().map(|dir| dir.join("esbuild")))
    }
}

/// Where npm puts the native program, below `node_modules`.
fn native_in_modules() -> PathBuf {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    PathBuf::from(format!("@esbuild/{os}-{arch}/bin/esbuild"))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(path: &Path, content: &str) -> PathBuf {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_owned()
    }

    fn search(root: &Path) -> Search {
        Search {
            explicit: None,
            beside: Some(root.join("bin")),
            root: root.join("a/b"),
            path: vec![root.join("path")],
        }
    }

    #[test]
    fn the_nearest_native_program_wins() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        assert!(
            matches!(search(root).run(), Err(BundleError::EsbuildMissing { scripts }) if scripts.is_empty())
        );

        let on_path = program(&root.join("path/esbuild"), "ELF");
        assert_eq!(search(root).run().unwrap().path, on_path);
        let above = program(&root.join("a/node_modules").join(native_in_modules()), "ELF");
        assert_eq!(search(root).run().unwrap().path, above);
        let beside = program(&root.join("bin/esbuild"), "ELF");
        assert_eq!(search(root).run().unwrap().path, beside);
        let explicit = Search { explicit: Some(root.join("none")), ..search(root) };
        assert!(matches!(explicit.run(), Err(BundleError::EsbuildUnusable { .. })));
    }

    #[test]
    fn a_launcher_leads_to_the_native_program_or_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let launcher = program(&root.join("lib/node_modules/esbuild/bin/esbuild"), "#!/usr/bin/env node");
        std::fs::create_dir_all(root.join("path")).unwrap();
        std::os::unix::fs::symlink(&launcher, root.join("path/esbuild")).unwrap();
        let error = search(root).run().unwrap_err().to_string();
        assert!(error.contains("path/esbuild is a script that needs Node.js"), "{error}");

        let native = program(&root.join("lib/node_modules").join(native_in_modules()), "ELF");
        assert_eq!(search(root).run().unwrap().path.canonicalize().unwrap(), native.canonicalize().unwrap());
    }
}
