//! The page about configuration, held against the table.

use std::{fmt::Write as _, fs, path::Path};

use super::settings::SETTINGS;

/// `cargo xtask compatibility --write` writes the page anew.
#[test]
fn the_page_about_configuration_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = page();
    if std::env::var_os("STEADFAST_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("writable");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/configuration.md is not what the code says: run `cargo xtask compatibility --write`"
    );
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut group = "";
    for setting in SETTINGS {
        if setting.group != group {
            group = setting.group;
            write!(page, "\n## {group}\n\n{ROWS}").expect("text grows");
        }
        let default = match setting.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let value = setting.value.replace('|', " or ");
        let (name, variable, about) = (setting.name, setting.variable(), setting.about);
        writeln!(page, "| `{name}` | `{variable}` | {value} | {default} | {about} |")
            .expect("text grows");
    }
    page.push_str(TAIL);
    page
}

const ROWS: &str = "| name | environment | value | default | what |\n|---|---|---|---|---|\n";

const HEAD: &str = "\
# Configuration

Written from the code by `cargo xtask compatibility --write`; a test holds the two together.

`steadfast serve` takes each setting from the first place that says it:

1. a flag, `--` and the name: `--grpc 127.0.0.1:7000`;
2. the environment: `STEADFAST_GRPC=127.0.0.1:7000`;
3. the config file, in TOML: `grpc = \"127.0.0.1:7000\"`. It is the one that `--config` or
   `STEADFAST_CONFIG` names, or else `steadfast.toml` in the current folder, if there is one;
4. the default.

A name in the file that is not known is an error that says which known name is near.
";

const TAIL: &str = "
## Who may come in

On loopback addresses everybody on this machine may come in, unless keys or clients' certificates
are asked for. `steadfast serve` does not start on any other address without one of them.

**Keys.** `steadfast key create --namespace orders --right write` prints a key, once, and the line
for the config file, which holds its SHA-256 only. Clients send the key as
`authorization: Bearer …`; the SDKs call it *API key*. The rights are `read`, `write` (which
includes `read`) and `admin` (which includes both, and sets up namespaces). A key for namespace `*`
is for all of them and for what belongs to none. `/metrics` asks for one that may read `*`.

**Certificates.** With `tls-cert` and `tls-key` connections are encrypted; with `tls-client-ca` only
clients with a certificate of that authority can connect. Changed files are read again at the next
connection; if they cannot be used, that is logged and the old ones stay in use.
";
