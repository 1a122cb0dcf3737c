//! What can be said to `server start-dev`.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use crate::{
    config::{host_name, port_beside},
    input::Pair,
};

/// Run a server for tests
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Run a server for tests, in memory unless a file is named
    StartDev(Box<StartDev>),
}

/// What can be said to `start-dev`.
#[derive(Debug, clap::Args)]
pub(super) struct StartDev {
    /// Where SDKs connect; 0 takes a free port, which is printed
    #[arg(long, short, value_name = "PORT", default_value_t = 7233)]
    pub(super) port: u16,

    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) ip: Host,

    /// A namespace to make beside `default`; may be repeated
    #[arg(long, short, value_name = "NAME")]
    pub(super) namespace: Vec<String>,

    /// Where runs are kept; without it, in memory
    #[arg(long, short = 'f', value_name = "FILE")]
    pub(super) db_filename: Option<PathBuf>,

    /// A search attribute to add to each namespace, as name=Type; may be repeated
    #[arg(long, value_name = "NAME=TYPE")]
    pub(super) search_attribute: Vec<Pair>,

    /// A setting by the name that other servers have for it, as key=value; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) dynamic_config_value: Vec<Pair>,

    /// How much is logged: debug, info, warn, error or never
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub(super) log_level: String,

    /// How it is written, to standard error: text, pretty (which is text) or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,

    /// Where /metrics and /healthz are; without it, nowhere
    #[arg(long, value_name = "PORT")]
    pub(super) metrics_port: Option<u16>,

    /// The same, by the name that other servers have for their HTTP door; without effect beside
    /// --metrics-port
    #[arg(long, value_name = "PORT")]
    pub(super) http_port: Option<u16>,

    /// How the file is written, as pragma=value: synchronous=full or normal; may be repeated
    #[arg(long, value_name = "PRAGMA=VALUE")]
    pub(super) sqlite_pragma: Vec<Pair>,

    /// Without the pages for a browser
    #[arg(long)]
    pub(super) headless: bool,

    /// Where the pages are; 1,000 above the port, if nothing is said and that is free
    #[arg(long, value_name = "PORT")]
    pub(super) ui_port: Option<u16>,

    /// The address that the pages are on; that of the server, if nothing is said
    #[arg(long, value_name = "ADDRESS")]
    ui_ip: Option<Host>,

    /// A name by which the pages may be asked for, besides localhost and addresses; may be repeated
    #[arg(long, value_name = "NAME", value_parser = host_name, value_delimiter = ',')]
    pub(super) http_names: Vec<String>,

    #[command(flatten)]
    taken: Taken,
}

/// Where the pages for a browser are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pages {
    Nowhere,
    /// Somebody said so.
    At(SocketAddr),
    /// Nobody said anything: there, unless somebody else is.
    IfFree(SocketAddr),
}

impl StartDev {
    /// The port of the HTTP door: there is one, whatever it is called.
    pub(super) fn http(&self) -> Option<u16> {
        self.metrics_port.or(self.http_port)
    }

    /// Where the pages are.
    pub(super) fn pages(&self) -> Pages {
        let ip = self.ui_ip.unwrap_or(self.ip).address();
        match (self.headless, self.ui_port) {
            (true, _) => Pages::Nowhere,
            (false, Some(port)) => Pages::At((ip, port).into()),
            (false, None) => {
                let beside = port_beside(self.port);
                beside.map_or(Pages::Nowhere, |port| Pages::IfFree((ip, port).into()))
            }
        }
    }

    /// The flags that somebody may have given for their effect, and that have none.
    pub(super) fn in_vain(&self) -> impl Iterator<Item = &'static str> {
        let is_elsewhere = self.http_port.is_some() && self.http_port != self.http();
        let http_port = is_elsewhere.then_some("--http-port beside --metrics-port");
        let ui_port =
            (self.headless && self.ui_port.is_some()).then_some("--ui-port beside --headless");
        self.taken.in_vain().chain(http_port).chain(ui_port)
    }
}

/// Flags that test environments give and that can have no effect here.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Taken, without effect")]
pub(super) struct Taken {
    #[arg(long, value_name = "PATH", hide = true)]
    ui_public_path: Option<String>,

    #[arg(long, value_name = "PATH", hide = true)]
    ui_asset_path: Option<String>,

    #[arg(long, value_name = "ADDRESS", hide = true)]
    ui_codec_endpoint: Option<String>,

    #[arg(long, hide = true)]
    log_config: bool,
}

impl Taken {
    /// Those that somebody may have given for their effect.
    fn in_vain(&self) -> impl Iterator<Item = &'static str> {
        [
            ("--ui-public-path", self.ui_public_path.is_some()),
            ("--ui-asset-path", self.ui_asset_path.is_some()),
            ("--ui-codec-endpoint", self.ui_codec_endpoint.is_some()),
            ("--log-config", self.log_config),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Pretty,
    Json,
}

/// An address to listen on; `localhost` is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host(IpAddr);

impl Host {
    pub(super) fn address(self) -> IpAddr {
        self.0
    }
}

impl FromStr for Host {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "localhost" {
            return Ok(Self(Ipv4Addr::LOCALHOST.into()));
        }
        text.parse().map(Self)
    }
}
