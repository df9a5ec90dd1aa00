//! Stock programs against a server.

#[path = "../../program/mod.rs"]
mod program;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use burn::tensor::remote::RemoteHost;
use burn::tensor::{Device, Distribution, Tensor, signal};

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-burn-server"));
    command.env("RUST_LOG", "warn");
    command
}

struct Server(Child);

impl Server {
    /// One on a free port, and how clients name it.
    fn start() -> (Self, String) {
        let mut process = command()
            .args(["--port", "0", "--device", "cpu", "--device", "cpu"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let address = output.lines().map_while(Result::ok);
        let address = address.into_iter().find(|line| line.starts_with("ws://"));
        (Self(process), address.unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn programs_run_as_they_are() {
    let (_server, address) = Server::start();
    let host = RemoteHost::websocket(&address);
    for index in 0..2 {
        let device = Device::remote_options(&host)
            .device_index(index)
            .init()
            .unwrap();
        program::multiplies(&device);
        program::differentiates(&device);
        program::learns(&device);

        let wave = Tensor::<2>::random([3, 16], Distribution::Default, &device);
        let (re, im) = signal::rfft(wave.clone(), 1, None);
        assert_eq!(re.dims(), [3, 9]);
        program::assert_near(signal::irfft(re, im, 1, None), wave.into_data());
    }
}

fn fails(arguments: &[&str], expected: &str) {
    let output = command().args(arguments).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(message.contains(expected), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn what_cannot_be_served_is_one_line() {
    fails(&["--device", "tpu"], "tpu");
    fails(&["--port", "many"], "many");
    fails(&["--host", "256.0.0.1"], "cannot listen on 256.0.0.1:3000");
}
