//! What can be said to `server start-dev`.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    str::FromStr,
};

use crate::input::Pair;

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

    #[command(flatten)]
    _taken: Taken,
}

/// Flags that test environments give and that change nothing here.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Taken, without effect")]
struct Taken {
    /// Without pages
    #[arg(long)]
    headless: bool,

    #[arg(long, value_name = "PORT", hide = true)]
    ui_port: Option<u16>,

    #[arg(long, value_name = "ADDRESS", hide = true)]
    ui_ip: Option<String>,

    #[arg(long, value_name = "PATH", hide = true)]
    ui_public_path: Option<String>,

    #[arg(long, value_name = "PATH", hide = true)]
    ui_asset_path: Option<String>,

    #[arg(long, value_name = "ADDRESS", hide = true)]
    ui_codec_endpoint: Option<String>,

    #[arg(long, value_name = "PORT", hide = true)]
    http_port: Option<u16>,

    #[arg(long, value_name = "PORT", hide = true)]
    metrics_port: Option<u16>,

    #[arg(long, value_name = "FORMAT", hide = true)]
    log_format: Option<String>,

    #[arg(long, value_name = "LEVEL", hide = true)]
    log_level: Option<String>,

    #[arg(long, hide = true)]
    log_config: bool,

    #[arg(long, value_name = "PRAGMA=VALUE", hide = true)]
    sqlite_pragma: Vec<Pair>,
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
