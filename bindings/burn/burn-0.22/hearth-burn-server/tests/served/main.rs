//! A program of Burn's users, whose tensors are at a server: what it computes in process comes from
//! there too.

#![allow(deprecated)] // LibTorch is, in Burn; Hearth has its place here.

mod ops;
mod training;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use burn::remote::RemoteHost;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData, Tolerance};

/// Of the CPU, at a free port.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_hearth-burn-server"))
            .env("RUST_LOG", "warn")
            .args(["--port", "0", "--device", "cpu"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines
            .map(Result::unwrap)
            .find(|line| line.starts_with("ws://"))
            .expect("a line with the address");
        Self { process, address }
    }

    fn device(&self) -> Device {
        let host = RemoteHost::websocket(&self.address);
        Device::remote_options(&host).init().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Whether the data of `program` are the same from a server and in process.
fn compare(program: impl Fn(&Device) -> Vec<TensorData>) {
    let server = Server::start();
    let (served, expected) = (program(&server.device()), program(&Device::libtorch()));
    assert_eq!(served.len(), expected.len());
    for (served, expected) in served.iter().zip(&expected) {
        if expected.dtype().is_float() {
            served.assert_approx_eq::<f32>(expected, Tolerance::absolute(1e-5));
        } else {
            served.assert_eq(expected, true);
        }
    }
}
