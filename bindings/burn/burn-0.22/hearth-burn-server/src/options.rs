//! The command line.

pub const HELP: &str = "\
Hearth behind Burn's remote server, for programs of Burn 0.22:
  Device::remote_options(&RemoteHost::websocket(\"ws://127.0.0.1:3000\")).init()

usage: hearth-burn-server [--port N] [--host ADDRESS] [--device NAME]...
  --port N        listen there; 0 takes a free one (default: 3000)
  --host ADDRESS  listen on this address (default: 127.0.0.1). Nothing is encrypted, and whoever
                  reaches the port may use it
  --device NAME   cpu, cuda, cuda:1, metal...; several are devices 0, 1... of the clients
                  (default: what HEARTH_DEVICE names, else cpu)
RUST_LOG=warn leaves only warnings of the log.
";

#[derive(Debug, PartialEq)]
pub enum Asked {
    Help,
    Serve(Options),
}

#[derive(Debug, PartialEq)]
pub struct Options {
    pub host: String,
    pub port: u16,
    /// By name; empty: the default one.
    pub devices: Vec<String>,
}

pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Asked, String> {
    let mut options = Options {
        host: "127.0.0.1".into(),
        port: 3000,
        devices: Vec::new(),
    };
    let mut arguments = arguments.into_iter();
    while let Some(name) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("{name} needs a value"))
        };
        match name.as_str() {
            "--help" | "-h" => return Ok(Asked::Help),
            "--host" => options.host = value()?,
            "--device" => options.devices.push(value()?),
            "--port" => {
                let text = value()?;
                options.port = text
                    .parse()
                    .map_err(|_| format!("{text} is no port: one is a number from 0 to 65535"))?;
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Asked::Serve(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Asked, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn arguments_say_where_to_listen_and_what_to_serve() {
        let Ok(Asked::Serve(options)) = parsed("--device cpu --port 0 --device cuda:1") else {
            panic!();
        };
        assert_eq!(options.host, "127.0.0.1");
        assert_eq!(options.port, 0);
        assert_eq!(options.devices, ["cpu", "cuda:1"]);
    }

    #[test]
    fn help_wins() {
        assert_eq!(parsed("--port 1 --help"), Ok(Asked::Help));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, name) in [
            ("--port", "--port"),
            ("--port 65536", "65536"),
            ("--gpu", "--gpu"),
        ] {
            let reason = parsed(line).unwrap_err();
            assert!(reason.contains(name), "{reason}");
        }
    }
}
