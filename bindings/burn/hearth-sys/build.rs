//! Finds Hearth, or builds it:
//! 1. in the folder that `HEARTH_LIB_DIR` names: libhearth.a, else the shared library,
//! 2. where pkg-config knows `hearth`,
//! 3. from the sources in `hearth`, by CMake, as a static library; CMake fetches what the system lacks
//!    of the libraries that it needs. In a checkout they are links to the sources around the crate.

use std::env;
use std::path::{Path, PathBuf};

/// What a static libhearth needs beside itself.
const NEEDED: [&str; 3] = ["hwy", "pthread", "dl"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HEARTH_LIB_DIR");
    if let Some(folder) = env::var_os("HEARTH_LIB_DIR") {
        link(Path::new(&folder));
    } else if !installed() {
        link(&build());
    }
}

fn installed() -> bool {
    pkg_config::Config::new()
        .atleast_version(env!("CARGO_PKG_VERSION"))
        .probe("hearth")
        .is_ok()
}

/// Builds the sources and returns the folder of libhearth.a.
fn build() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("hearth");
    for part in sources.read_dir().unwrap() {
        let part = part.unwrap().path().canonicalize().unwrap(); // Cargo follows no links
        println!("cargo::rerun-if-changed={}", part.display());
    }
    let mut config = cmake::Config::new(&sources);
    for option in ["TESTS", "TOOL", "EXAMPLES"] {
        config.define(format!("HEARTH_BUILD_{option}"), "OFF");
    }
    config
        .define("BUILD_SHARED_LIBS", "OFF")
        .define("HEARTH_FETCH_DEPENDENCIES", "ON")
        .define("CMAKE_INSTALL_LIBDIR", "lib")
        .profile("Release") // whatever the profile of the crate that is built
        .build()
        .join("lib")
}

fn link(folder: &Path) {
    println!("cargo::rustc-link-search=native={}", folder.display());
    let archive = folder.join("libhearth.a");
    if archive.exists() {
        println!("cargo::rerun-if-changed={}", archive.display());
        println!("cargo::rustc-link-lib=static=hearth");
        for library in NEEDED {
            println!("cargo::rustc-link-lib={library}");
        }
        link_runtime();
    } else {
        println!("cargo::rustc-link-lib=dylib=hearth");
    }
}

/// The C++ library, which a static libhearth does not bring along.
fn link_runtime() {
    let apple = env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple");
    let library = if apple { "c++" } else { "stdc++" };
    println!("cargo::rustc-link-lib={library}");
}
