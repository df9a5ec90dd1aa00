//! Hearth behind Burn's remote server: stock programs of Burn 0.22 compute on its devices.

mod options;

use std::net::TcpListener;
use std::process::ExitCode;

use burn_hearth::{Hearth, HearthDevice};
use burn_remote::server::{BackendServer, WebSocketTransport};
use clap::Parser;

use options::Options;

fn main() -> ExitCode {
    if let Err(reason) = serve(Options::parse()) {
        eprintln!("hearth-burn-server: {reason}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Until Ctrl+C or SIGTERM.
fn serve(options: Options) -> Result<(), String> {
    let Options {
        port,
        host,
        mut devices,
    } = options;
    if devices.is_empty() {
        devices.push(HearthDevice::default());
    }
    let listener = TcpListener::bind((host.as_str(), port))
        .map_err(|error| format!("cannot listen on {host}:{port}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    for (index, device) in devices.iter().enumerate() {
        println!("device {index}: {}", device.description());
    }
    println!("ws://{address}");
    let mut server = BackendServer::<Hearth>::new(devices);
    for name in Hearth::SIGNAL_OPS {
        server = server.with_custom_op(name, |handles, op, _| Hearth::run_signal_op(handles, op));
    }
    server
        .serve(WebSocketTransport::from_listener(listener))
        .map_err(|error| error.to_string())
}
