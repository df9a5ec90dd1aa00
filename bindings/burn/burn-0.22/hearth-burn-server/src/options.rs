//! The command line.

use burn_hearth::HearthDevice;
use clap::Parser;

/// Hearth behind Burn's remote server, for programs of Burn 0.22:
/// Device::remote_options(&RemoteHost::websocket("ws://127.0.0.1:3000")).init()
///
/// RUST_LOG=warn leaves only warnings of the log.
#[derive(Parser, Debug, PartialEq)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// Listen there; 0 takes a free one
    #[arg(long, default_value_t = 3000)]
    pub port: u16,
    /// Listen on this address. Nothing is encrypted, and whoever reaches the port may use it
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// cpu, cuda, cuda:1, metal...; several are devices 0, 1... of the clients
    /// [default: what HEARTH_DEVICE names, else cpu]
    #[arg(long = "device", value_name = "NAME")]
    pub devices: Vec<HearthDevice>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(
            std::iter::once("hearth-burn-server").chain(line.split_whitespace()),
        )
    }

    #[test]
    fn arguments_say_where_to_listen_and_what_to_serve() {
        let options = parsed("--device cpu --port 0 --device cpu:0").unwrap();
        assert_eq!((options.host.as_str(), options.port), ("127.0.0.1", 0));
        assert_eq!(options.devices, [HearthDevice::Cpu, HearthDevice::Cpu]);
        assert!(parsed("").unwrap().devices.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, name) in [
            ("--port", "--port"),
            ("--port 65536", "65536"),
            ("--gpu", "--gpu"),
            ("--device cuda:99", "cuda:99"),
        ] {
            let reason = parsed(line).unwrap_err().to_string();
            assert!(reason.contains(name), "{reason}");
        }
    }
}
