//! Everything that can be set, in one table.

use std::{
    fmt::Display,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use steadfast_server::{Key, Keys, Right};
use steadfast_store::sqlite::{Check, Synchronous};

use super::{Config, Http};

/// Something that can be set.
#[derive(Debug)]
pub(super) struct Setting {
    /// Its name in the config file, and on the command line after `--`.
    pub(super) name: &'static str,
    /// What its value is, in one word.
    pub(super) value: &'static str,
    /// What holds if nobody says otherwise; empty for nothing.
    pub(super) default: &'static str,
    /// What it is about.
    pub(super) about: &'static str,
    /// Where it belongs.
    pub(super) group: &'static str,
    /// Sets it from text.
    pub(super) set: fn(&mut Config, &str) -> Result<()>,
}

/// Everything that can be set.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "db",
        value: "FILE",
        default: "steadfast.db",
        about: "Where runs are kept; the file is created if it is not there",
        group: STORAGE,
        set: |it, text| to(&mut it.db, text),
    },
    Setting {
        name: "synchronous",
        value: "full|normal",
        default: "full",
        about: "What a commit waits for: the disk, or the operating system (faster; a power cut \
                may lose the last commits)",
        group: STORAGE,
        set: |it, text| {
            it.sqlite.synchronous =
                one_of(text, &[("full", Synchronous::Full), ("normal", Synchronous::Normal)])?;
            Ok(())
        },
    },
    Setting {
        name: "check",
        value: "auto|always|never",
        default: "auto",
        about: "Whether every page of the file is checked at start",
        group: STORAGE,
        set: |it, text| {
            let all = [("auto", Check::Auto), ("always", Check::Always), ("never", Check::Never)];
            it.sqlite.check = one_of(text, &all)?;
            Ok(())
        },
    },
    Setting {
        name: "shards",
        value: "COUNT",
        default: "4",
        about: "How many parts a new file gets, which work side by side; a file keeps its number",
        group: STORAGE,
        set: |it, text| {
            to(&mut it.engine.shards, text)?;
            ensure!((1..=1024).contains(&it.engine.shards), "there are 1 to 1024 shards");
            Ok(())
        },
    },
    Setting {
        name: "page-cache-kib",
        value: "KIB",
        default: "16384",
        about: "Memory for pages of the file",
        group: STORAGE,
        set: |it, text| to(&mut it.sqlite.writer_cache_kib, text),
    },
    Setting {
        name: "commit-wait-ms",
        value: "COUNT",
        default: "16",
        about: "How long a commit waits for more work at the most, in milliseconds, while there is a \
                lot of it; 0 is not at all",
        group: STORAGE,
        set: |it, text| {
            let wait = millis(text)?;
            ensure!(wait.as_millis() <= 100, "a commit waits for 100 ms at the most");
            it.engine.limits.commit_wait = wait;
            Ok(())
        },
    },
    Setting {
        name: "cached-runs",
        value: "COUNT",
        default: "20000",
        about: "Runs that are kept in memory when nothing happens to them",
        group: STORAGE,
        set: |it, text| to(&mut it.engine.limits.cached_runs_max, text),
    },
    Setting {
        name: "cached-mib",
        value: "MIB",
        default: "128",
        about: "Memory for what those runs keep of inputs, pending work and newest events",
        group: STORAGE,
        set: |it, text| mib(&mut it.engine.limits.cached_bytes_max, text),
    },
    Setting {
        name: "unwritten-mib",
        value: "MIB",
        default: "256",
        about: "Memory for changes on their way to disk: more is refused until it has caught up",
        group: STORAGE,
        set: |it, text| mib(&mut it.engine.limits.unwritten_bytes_max, text),
    },
    Setting {
        name: "grpc",
        value: "ADDRESS",
        default: "127.0.0.1:7233",
        about: "Where SDKs connect",
        group: DOORS,
        set: |it, text| {
            it.doors.grpc = address(text)?;
            Ok(())
        },
    },
    Setting {
        name: "http",
        value: "ADDRESS|off",
        default: "",
        about: "Where health and metrics are; if nobody says, on this machine 1000 ports above \
                gRPC, which is 127.0.0.1:8233",
        group: DOORS,
        set: |it, text| {
            it.http = if text == "off" { Http::Off } else { Http::At(address(text)?) };
            Ok(())
        },
    },
    Setting {
        name: "http-names",
        value: "NAME",
        default: "",
        about: "Names by which the pages and the API over HTTP may be asked for where there are \
                neither keys nor TLS, separated by commas (a list in the file); addresses and \
                localhost always may",
        group: DOORS,
        set: |it, text| {
            it.doors.http_names = each(text, host_name)?;
            Ok(())
        },
    },
    Setting {
        name: "threads",
        value: "COUNT",
        default: "",
        about: "Threads that answer; if nobody says, one fewer than there are cores, for the data \
                file has its own",
        group: DOORS,
        set: |it, text| {
            it.threads = Some(text.parse().context("there are 1 or more threads")?);
            Ok(())
        },
    },
    Setting {
        name: "tls-cert",
        value: "FILE",
        default: "",
        about: "The server's certificate, PEM; read again when it changes",
        group: DOORS,
        set: |it, text| {
            it.tls_cert = Some(PathBuf::from(text));
            Ok(())
        },
    },
    Setting {
        name: "tls-key",
        value: "FILE",
        default: "",
        about: "The key to the certificate, PEM",
        group: DOORS,
        set: |it, text| {
            it.tls_key = Some(PathBuf::from(text));
            Ok(())
        },
    },
    Setting {
        name: "tls-client-ca",
        value: "FILE",
        default: "",
        about: "Let in only clients with a certificate of this authority, PEM",
        group: DOORS,
        set: |it, text| {
            it.tls_client_ca = Some(PathBuf::from(text));
            Ok(())
        },
    },
    Setting {
        name: "keys",
        value: "RIGHT:NAMESPACE:SHA256",
        default: "",
        about: "Let in only who has one of these keys, separated by commas (a list in the file); \
                `steadfast key create` makes them",
        group: DOORS,
        set: |it, text| {
            it.doors.keys = Keys::new(each(text, key)?);
            Ok(())
        },
    },
    Setting {
        name: "blob-bytes-max",
        value: "BYTES",
        default: "2097152",
        about: "The largest input, result, failure or details",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.blob_bytes_max, text),
    },
    Setting {
        name: "memo-bytes-max",
        value: "BYTES",
        default: "2097152",
        about: "The largest memo",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.memo_bytes_max, text),
    },
    Setting {
        name: "history-events-max",
        value: "COUNT",
        default: "51200",
        about: "Events after which a run is terminated",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.history_events_max, text),
    },
    Setting {
        name: "history-bytes-max",
        value: "BYTES",
        default: "52428800",
        about: "Bytes of history after which a run is terminated",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.history_bytes_max, text),
    },
    Setting {
        name: "history-events-suggest",
        value: "COUNT",
        default: "4096",
        about: "Events after which a run is asked to continue as new",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.history_events_suggest, text),
    },
    Setting {
        name: "history-bytes-suggest",
        value: "BYTES",
        default: "4194304",
        about: "Bytes of history after which a run is asked to continue as new",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.history_bytes_suggest, text),
    },
    Setting {
        name: "continue-as-new-interval-ms",
        value: "MILLIS",
        default: "1000",
        about: "How long after a run its workflow may go on as a new one, from start to start; 0 for \
                at once",
        group: LIMITS,
        set: |it, text| {
            it.engine.limits.run.continue_as_new_interval = millis(text)?;
            Ok(())
        },
    },
    Setting {
        name: "pending-max",
        value: "COUNT",
        default: "2000",
        about: "Activities of one run that may be pending, and as many children and messages",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.pending_max, text),
    },
    Setting {
        name: "signals-max",
        value: "COUNT",
        default: "10000",
        about: "Signals that one run takes",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.signals_max, text),
    },
    Setting {
        name: "updates-in-flight-max",
        value: "COUNT",
        default: "10",
        about: "Updates of one run that may be under way",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.updates_in_flight_max, text),
    },
    Setting {
        name: "updates-max",
        value: "COUNT",
        default: "2000",
        about: "Updates that one run takes",
        group: LIMITS,
        set: |it, text| to(&mut it.engine.limits.run.updates_max, text),
    },
    Setting {
        name: "retention",
        value: "SPAN",
        default: "3d",
        about: "How long closed runs of the namespace `default` are kept, if this start creates it",
        group: LIMITS,
        set: |it, text| {
            it.engine.limits.run.retention = span(text)?;
            Ok(())
        },
    },
    Setting {
        name: "log-level",
        value: "LEVEL",
        default: "warn",
        about: "How much is logged: error, warn, info, debug or trace; `warn,steadfast_engine=debug` \
                for one part",
        group: LOGS,
        set: |it, text| it.logs.set_level(text),
    },
    Setting {
        name: "log-format",
        value: "text|json",
        default: "text",
        about: "How it is written, to standard error",
        group: LOGS,
        set: |it, text| {
            it.logs.json = one_of(text, &[("text", false), ("json", true)])?;
            Ok(())
        },
    },
];

const STORAGE: &str = "Storage";
const DOORS: &str = "Doors";
const LIMITS: &str = "Limits";
const LOGS: &str = "Logs";

fn to<T: FromStr>(place: &mut T, text: &str) -> Result<()>
where
    T::Err: Display,
{
    *place = text.parse().map_err(|error| anyhow::anyhow!("{text:?} will not do: {error}"))?;
    Ok(())
}

fn mib(place: &mut usize, text: &str) -> Result<()> {
    let mut mib = 0_usize;
    to(&mut mib, text)?;
    *place = mib.saturating_mul(1 << 20);
    Ok(())
}

fn millis(text: &str) -> Result<Duration> {
    let mut millis = 0;
    to(&mut millis, text)?;
    Ok(Duration::from_millis(millis))
}

fn one_of<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T> {
    if let Some((_, value)) = all.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    bail!("{text:?} is none of {}", names.join(", "))
}

/// An address with a port; `localhost` is one.
fn address(text: &str) -> Result<SocketAddr> {
    let here = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let here = here.map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    here.or_else(|| text.parse().ok()).with_context(|| {
        format!("{text:?} is not an address with a port, such as 127.0.0.1:7233 or [::1]:7233")
    })
}

/// A name as browsers ask for it.
pub(crate) fn host_name(text: &str) -> Result<String> {
    let name = text.trim().to_lowercase();
    let is_name = !name.is_empty()
        && name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '.' | '_'));
    anyhow::ensure!(
        is_name,
        "{text:?} is not a name such as flows.example, without scheme, port and path"
    );
    Ok(name)
}

/// A span such as `90s`, `12h` or `3d`.
fn span(text: &str) -> Result<Duration> {
    let wrong = || format!("{text:?} is not a span such as 90s, 30m, 12h or 3d");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).with_context(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => bail!(wrong()),
    };
    let number: u64 = number.parse().ok().with_context(wrong)?;
    Ok(Duration::from_secs(number.checked_mul(seconds).with_context(wrong)?))
}

/// All of a list, which commas separate.
fn each<T>(text: &str, read: fn(&str) -> Result<T>) -> Result<Vec<T>> {
    text.split(',').filter(|it| !it.is_empty()).map(read).collect()
}

/// The namespace may have colons of its own.
fn key(text: &str) -> Result<Key> {
    let parts = text.trim().split_once(':').and_then(|(right, rest)| {
        let (namespace, hash) = rest.rsplit_once(':')?;
        Some((right, namespace, hash))
    });
    let (right, namespace, hash) =
        parts.with_context(|| format!("{text:?} is not RIGHT:NAMESPACE:SHA256"))?;
    let right =
        one_of(right, &[("read", Right::Read), ("write", Right::Write), ("admin", Right::Admin)])?;
    let namespace = (namespace != "*").then(|| namespace.to_owned());
    Ok(Key { hash: hash.parse()?, namespace, right })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_unit() {
        assert_eq!(span("90s").expect("a span"), Duration::from_secs(90));
        assert_eq!(span("3d").expect("a span"), Duration::from_secs(3 * 86_400));
        for wrong in ["", "d", "3", "3w", "-3d", "3.5d", "99999999999999999d", "3é"] {
            span(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn a_host_is_a_name_alone() {
        assert_eq!(host_name(" Flows.Example").expect("a name"), "flows.example");
        for wrong in ["", "http://flows.example", "flows.example:8233", "flows.example/", "*"] {
            let error = host_name(wrong).expect_err(wrong).to_string();
            assert!(error.contains("without scheme, port and path"), "{error}");
        }
    }

    #[test]
    fn keys_are_read_with_their_right_and_namespace() {
        let hash = steadfast_server::KeyHash::of(b"secret");
        let read = key(&format!("write:a:b:{hash}")).expect("a key");
        assert_eq!(read, Key { hash, namespace: Some("a:b".to_owned()), right: Right::Write });
        assert_eq!(key(&format!("admin:*:{hash}")).expect("a key").namespace, None);
        for (wrong, part) in [
            ("write:a", "RIGHT:NAMESPACE:SHA256"),
            ("own:a:00", "none of read, write, admin"),
            ("read:a:00", "64 hexadecimal digits"),
        ] {
            let error = format!("{:#}", key(wrong).expect_err(wrong));
            assert!(error.contains(part), "{error}");
        }
    }
}
