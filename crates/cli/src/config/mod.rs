//! What can be set about a server, and where it is said.
//!
//! ```text
//!   flags  ──▶  environment  ──▶  config file  ──▶  defaults
//!   (the first place that says it is believed)
//! ```
//!
//! All places use the same names, from the one table in `settings`: `tls-cert` in the file is
//! `--tls-cert` and `STEADFAST_TLS_CERT`.

mod file;
#[cfg(test)]
mod page;
mod settings;

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command};
use steadfast_server::TlsFiles;
use steadfast_store::sqlite;

pub(crate) use self::settings::host_name;
use self::settings::{SETTINGS, Setting};
use crate::logs::Logs;

/// How a server is to run.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) db: PathBuf,
    pub(crate) sqlite: sqlite::Options,
    pub(crate) engine: steadfast_engine::Options,
    pub(crate) doors: steadfast_server::Options,
    pub(crate) logs: Logs,
    /// The threads that answer; `None` for as many as are good for this machine.
    pub(crate) threads: Option<NonZeroUsize>,
    http: Http,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_client_ca: Option<PathBuf>,
}

/// What was said about the HTTP door.
#[derive(Clone, Copy, Debug)]
enum Http {
    /// Nothing: it is beside the other one.
    Beside,
    /// It is here.
    At(SocketAddr),
    /// There is none.
    Off,
}

impl Default for Config {
    fn default() -> Self {
        let mut engine = steadfast_engine::Options::default();
        // Workers of a server are elsewhere.
        engine.limits.commit_wait = COMMIT_WAIT;
        engine.limits.run.continue_as_new_interval = CONTINUE_AS_NEW_INTERVAL;
        Self {
            db: PathBuf::from("steadfast.db"),
            sqlite: sqlite::Options::default(),
            engine,
            doors: steadfast_server::Options::default(),
            logs: Logs::default(),
            threads: None,
            http: Http::Beside,
            tls_cert: None,
            tls_key: None,
            tls_client_ca: None,
        }
    }
}

/// Much of what a commit costs is the same for few changes and for many; while there are many, clients
/// wait longer for their turn than for this.
const COMMIT_WAIT: Duration = Duration::from_millis(16);
/// As users of SDKs know it.
pub(crate) const CONTINUE_AS_NEW_INTERVAL: Duration = Duration::from_secs(1);

/// What the command line says.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    file: Option<PathBuf>,
    given: Vec<(&'static Setting, String)>,
}

impl Flags {
    /// Only where the settings are.
    pub(crate) fn in_file(file: Option<PathBuf>) -> Self {
        Self { file, given: Vec::new() }
    }
}

impl Config {
    /// Puts together what is said in all places.
    pub(crate) fn gather(flags: &Flags) -> Result<Self> {
        let mut config = Self::default();
        let named = flags.file.clone().or_else(|| std::env::var_os(FILE_VARIABLE).map(Into::into));
        for (setting, text, path) in file::read(named.as_deref())? {
            let place = || format!("{}: {}", path.display(), setting.name);
            (setting.set)(&mut config, &text).with_context(place)?;
        }
        for setting in SETTINGS {
            let variable = setting.variable();
            let Some(text) = std::env::var_os(&variable) else { continue };
            let text = text.to_str().with_context(|| format!("{variable} is not text"))?;
            (setting.set)(&mut config, text).context(variable)?;
        }
        for (setting, text) in &flags.given {
            (setting.set)(&mut config, text).with_context(|| format!("--{}", setting.name))?;
        }
        config.finish()
    }

    /// What is only right together.
    fn finish(mut self) -> Result<Self> {
        self.doors.http = match self.http {
            Http::Beside => beside(self.doors.grpc).into_iter().collect(),
            Http::At(address) => vec![address],
            Http::Off => Vec::new(),
        };
        self.doors.tls = match (self.tls_cert.take(), self.tls_key.take()) {
            (Some(cert), Some(key)) => {
                Some(TlsFiles { cert, key, client_ca: self.tls_client_ca.take() })
            }
            (None, None) if self.tls_client_ca.is_none() => None,
            _ => anyhow::bail!(
                "tls-cert and tls-key belong together, and tls-client-ca needs both of them"
            ),
        };
        Ok(self)
    }
}

/// Where the HTTP door is if nobody says: servers that differ in their first port differ in this.
fn beside(grpc: SocketAddr) -> Option<SocketAddr> {
    port_beside(grpc.port()).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

/// The port of the HTTP door beside that of the other; any free one beside any free one.
pub(crate) fn port_beside(port: u16) -> Option<u16> {
    if port == 0 { Some(0) } else { port.checked_add(1_000) }
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let file = matches.get_one::<PathBuf>(FILE_FLAG).cloned();
        let given = SETTINGS.iter().filter_map(|setting| {
            let text = matches.get_one::<String>(setting.name)?;
            Some((setting, text.clone()))
        });
        Ok(Self { file, given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE_FLAG)
            .long(FILE_FLAG)
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("Where settings are; ./steadfast.toml is read if it is there");
        SETTINGS.iter().fold(command.arg(file), |command, setting| command.arg(setting.flag()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Setting {
    fn flag(&self) -> Arg {
        let set = self.set;
        let tried = move |text: &str| set(&mut Config::default(), text).map(|()| text.to_owned());
        let help = match self.default {
            "" => self.about.to_owned(),
            default => format!("{} [default: {default}]", self.about),
        };
        Arg::new(self.name)
            .long(self.name)
            .value_name(self.value)
            .value_parser(tried)
            .help_heading(self.group)
            .help(help)
    }

    /// Its name in the environment.
    fn variable(&self) -> String {
        format!("STEADFAST_{}", self.name.to_uppercase().replace('-', "_"))
    }
}

const FILE_FLAG: &str = "config";
const FILE_VARIABLE: &str = "STEADFAST_CONFIG";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_are_told_are_those_that_hold() {
        for setting in SETTINGS {
            let mut config = Config::default();
            if !setting.default.is_empty() {
                (setting.set)(&mut config, setting.default).expect(setting.name);
            }
            let default = Config::default();
            assert_eq!(format!("{config:?}"), format!("{default:?}"), "{}", setting.name);
        }
    }

    #[test]
    fn the_http_door_is_beside_the_other_unless_somebody_says() {
        let http = |grpc: &str, said: Option<&str>| {
            let mut config = Config::default();
            config.doors.grpc = grpc.parse().expect("an address");
            if let Some(text) = said {
                let setting = SETTINGS.iter().find(|setting| setting.name == "http");
                (setting.expect("there is one").set)(&mut config, text).expect("an address");
            }
            config.finish().expect("complete").doors.http.first().map(ToString::to_string)
        };
        assert_eq!(http("127.0.0.1:7233", None).as_deref(), Some("127.0.0.1:8233"));
        assert_eq!(http("0.0.0.0:7000", None).as_deref(), Some("127.0.0.1:8000"));
        assert_eq!(http("127.0.0.1:0", None).as_deref(), Some("127.0.0.1:0"));
        assert_eq!(http("127.0.0.1:65000", None), None);
        assert_eq!(http("127.0.0.1:7233", Some("off")), None);
        assert_eq!(http("127.0.0.1:7233", Some("[::1]:1")).as_deref(), Some("[::1]:1"));
    }

    #[test]
    fn names_are_told_once() {
        let mut names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SETTINGS.len());
    }

    #[test]
    fn certificates_are_complete_or_refused() {
        let cert = Config { tls_cert: Some("c".into()), ..Config::default() };
        cert.finish().expect_err("a key is missing");
        let authority = Config { tls_client_ca: Some("a".into()), ..Config::default() };
        authority.finish().expect_err("a certificate is missing");
        let both =
            Config { tls_cert: Some("c".into()), tls_key: Some("k".into()), ..Config::default() };
        assert!(both.finish().expect("complete").doors.tls.is_some());
    }
}
