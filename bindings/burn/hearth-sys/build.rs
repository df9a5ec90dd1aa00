//! Finds Hearth, or builds it:
//! 1. in the folder that `HEARTH_LIB_DIR` names: libhearth.a, else the shared library,
//! 2. where pkg-config knows `hearth`,
//! 3. from the sources in `hearth`, by CMake, as a static library; CMake fetches what the system lacks
//!    of the libraries that it needs. In a checkout they are links to the sources around the crate.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HEARTH_LIB_DIR");
    if let Some(folder) = env::var_os("HEARTH_LIB_DIR").filter(|folder| !folder.is_empty()) {
        link(&given(Path::new(&folder)));
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

/// The folder that HEARTH_LIB_DIR names, as Cargo needs it.
fn given(folder: &Path) -> PathBuf {
    let names = ["libhearth.a", "libhearth.so", "libhearth.dylib"];
    if !names.iter().any(|name| folder.join(name).exists()) {
        panic!("HEARTH_LIB_DIR: no Hearth in {folder:?}; expected one of {names:?} there");
    }
    folder.canonicalize().unwrap()
}

fn link(folder: &Path) {
    println!("cargo::rustc-link-search=native={}", folder.display());
    let archive = folder.join("libhearth.a");
    if archive.exists() {
        println!("cargo::rerun-if-changed={}", archive.display());
        println!("cargo::rustc-link-lib=static=hearth");
        link_needed(folder);
    } else {
        println!("cargo::rustc-link-lib=dylib=hearth");
    }
}

/// What a static libhearth needs beside itself, which hearth.pc says. It is read without pkg-config,
/// which not every system has, and which would look for the library where it is not installed yet.
fn link_needed(folder: &Path) {
    // Where libhearth.a is installed, and where it is built.
    let places = [
        folder.join("pkgconfig/hearth.pc"),
        folder.join("../hearth.pc"),
    ];
    let Some(package) = places.iter().find(|place| place.exists()) else {
        panic!("no hearth.pc says what libhearth.a needs; expected one of {places:?}");
    };
    println!("cargo::rerun-if-changed={}", package.display());
    let text = fs::read_to_string(package).unwrap();
    let libraries = text.lines().find_map(|line| line.strip_prefix("Libs:"));
    for argument in libraries.unwrap_or_default().split_whitespace() {
        match argument.split_at_checked(2) {
            Some(("-l", name)) if name != "hearth" => println!("cargo::rustc-link-lib={name}"),
            // Its own folder depends on where it is installed.
            Some(("-L", path)) if !path.starts_with('$') => {
                println!("cargo::rustc-link-search=native={path}");
            }
            _ => {}
        }
    }
}
