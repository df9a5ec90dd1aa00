//! Names the version of Burn to the sources, which those of burn-hearth for Burn 0.21 are too.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(burn_0_22)");
    println!("cargo::rustc-cfg=burn_0_22");
}
