//! Compiles nghttp2's library.

use std::path::{Path, PathBuf};
use std::{env, fs};

const LIBRARY: &str = "nghttp2/lib";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let include = out.join("include");
    write_version_header(&include.join("nghttp2"));

    let mut sources: Vec<PathBuf> = fs::read_dir(LIBRARY)
        .expect("the library's sources are in the package")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    cc::Build::new()
        .include(Path::new(LIBRARY).join("includes"))
        .include(&include)
        .files(sources)
        .warnings(false)
        .define("NGHTTP2_STATICLIB", None)
        .define("HAVE_NETINET_IN", None)
        .define("HAVE_TIME_H", None)
        .define("HAVE_ARPA_INET_H", None)
        .compile("nghttp2");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={LIBRARY}");
}

fn write_version_header(directory: &Path) {
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    let number: String =
        version.split('.').map(|part| format!("{:02x}", part.parse::<u8>().expect("a number"))).collect();
    let template = format!("{LIBRARY}/includes/nghttp2/nghttp2ver.h.in");
    let header = fs::read_to_string(template)
        .expect("the template is in the package")
        .replace("@PACKAGE_VERSION@", &version)
        .replace("@PACKAGE_VERSION_NUM@", &format!("0x{number}"));
    fs::create_dir_all(directory).expect("OUT_DIR is writable");
    fs::write(directory.join("nghttp2ver.h"), header).expect("OUT_DIR is writable");
}
