//! The command as it is called.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-burn-server"));
    command.env("RUST_LOG", "warn");
    command
}

#[test]
fn a_server_says_where_it_listens() {
    let mut process = command()
        .args(["--port", "0", "--device", "cpu", "--device", "cpu"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines.take(3).map(Result::unwrap).collect();
    assert!(lines[1].starts_with("device 1: "), "{lines:?}");
    let address = lines[2].strip_prefix("ws://").unwrap();
    let connected = TcpStream::connect(address);
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(connected.is_ok());
}

fn fails(arguments: &[&str], code: i32, expected: &str) {
    let output = command().args(arguments).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code));
    assert!(message.contains(expected), "{message}");
    assert!(!message.contains("backtrace"), "{message}");
}

#[test]
fn what_cannot_be_served_is_said() {
    fails(&["--device", "tpu"], 2, "tpu");
    fails(&["--port", "many"], 2, "many");
    fails(
        &["--host", "256.0.0.1"],
        1,
        "cannot listen on 256.0.0.1:3000",
    );
}
