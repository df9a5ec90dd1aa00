//! Hearth behind Burn's remote server: stock programs of Burn 0.22 compute on its devices.

mod options;

use std::net::TcpListener;
use std::process::ExitCode;

use burn_hearth::{Hearth, HearthDevice};
use burn_remote::server::{BackendServer, WebSocketTransport};

use options::{Asked, Options};

fn main() -> ExitCode {
    match options::parse(std::env::args().skip(1)) {
        Ok(Asked::Help) => print!("{}", options::HELP),
        Ok(Asked::Serve(options)) => {
            if let Err(reason) = serve(options) {
                eprintln!("hearth-burn-server: {reason}");
                return ExitCode::FAILURE;
            }
        }
        Err(reason) => {
            eprintln!("hearth-burn-server: {reason}; --help says what there is");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Until Ctrl+C or SIGTERM.
fn serve(options: Options) -> Result<(), String> {
    let mut devices = Vec::new();
    for name in &options.devices {
        devices.push(name.parse::<HearthDevice>()?);
    }
    if devices.is_empty() {
        devices.push(HearthDevice::default());
    }
    let Options { host, port, .. } = options;
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
