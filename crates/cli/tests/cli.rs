//! The binary as a user meets it: arguments, output, exit codes.

mod served;

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn steadfast(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> Output {
    steadfast(args).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Serves a file, where nobody else does.
fn serve(db: &Path) -> Output {
    let free = ["serve", "--grpc", "127.0.0.1:0", "--http", "off", "--db"];
    steadfast(&free).arg(db).output().expect("the binary starts")
}

/// A folder of its own for the test called `name`, empty.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => fs::create_dir_all(&path).expect("a folder can be made"),
    }
    path
}

#[test]
fn help_names_the_commands_and_the_exit_codes() {
    let answer = output(&["--help"]);
    assert_eq!(answer.status.code(), Some(0));
    let help = text(&answer.stdout);
    for part in ["serve", "Exit codes:", "0  it did", "1  it could not", "2  the arguments"] {
        assert!(help.contains(part), "no `{part}` in:\n{help}");
    }
}

#[test]
fn the_version_is_told() {
    let answer = output(&["--version"]);
    assert_eq!(text(&answer.stdout), format!("steadfast {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_arguments_exit_with_2_and_touch_nothing() {
    let here = folder("wrong_arguments");
    for args in [&["serve", "--bd", "x"][..], &["sevre"], &[]] {
        let answer = steadfast(args).current_dir(&here).output().expect("the binary starts");
        assert_eq!(answer.status.code(), Some(2), "{args:?}");
        assert!(text(&answer.stderr).contains("Usage: steadfast"), "{args:?}");
    }
    assert_eq!(fs::read_dir(&here).expect("readable").count(), 0);
}

#[test]
fn a_data_file_that_cannot_be_opened_exits_with_1_and_is_named() {
    let here = folder("no_data_file");
    let nowhere = here.join("no/such/folder/a.db");
    let answer = serve(&nowhere);
    assert_eq!(answer.status.code(), Some(1));
    let error = text(&answer.stderr);
    assert!(error.starts_with("error: cannot open the data file"), "{error}");
    assert!(error.contains(&nowhere.display().to_string()), "{error}");

    let answer = serve(&here);
    assert_eq!(answer.status.code(), Some(1));
    assert!(text(&answer.stderr).contains("is a folder; --db names a file"));
}

#[test]
fn a_file_that_is_not_ours_exits_with_1_and_is_left_as_it_was() {
    let file = folder("not_ours").join("a.db");
    fs::write(&file, "a letter").expect("writable");
    let answer = serve(&file);
    assert_eq!(answer.status.code(), Some(1));
    assert!(text(&answer.stderr).contains("was not opened"), "{}", text(&answer.stderr));
    assert_eq!(fs::read_to_string(&file).expect("readable"), "a letter");
}

#[test]
fn wrong_values_exit_with_2_and_are_named() {
    for (args, part) in [
        (
            &["serve", "--grpc", "here"][..],
            "invalid value 'here' for '--grpc <ADDRESS>': \"here\" is not an address with a port",
        ),
        (&["serve", "--shards", "0"], "there are 1 to 1024 shards"),
        (&["serve", "--synchronous", "off"], "\"off\" is none of full, normal"),
        (&["serve", "--log-level", "loud"], "is not a level such as warn"),
    ] {
        let answer = output(args);
        assert_eq!(answer.status.code(), Some(2), "{args:?}");
        assert!(text(&answer.stderr).contains(part), "{}", text(&answer.stderr));
    }
}

#[test]
fn a_wrong_config_file_exits_with_1_and_touches_nothing() {
    let here = folder("wrong_config");
    let serve = |config: &str| {
        fs::write(here.join("steadfast.toml"), config).expect("writable");
        let answer = steadfast(&["serve"]).current_dir(&here).output().expect("the binary starts");
        assert_eq!(answer.status.code(), Some(1));
        text(&answer.stderr)
    };
    assert_eq!(
        serve("gprc = \"127.0.0.1:0\""),
        "error: steadfast.toml: there is no setting \"gprc\"; the nearest is \"grpc\"\n"
    );
    let error = serve("shards = \"many\"");
    assert!(error.starts_with("error: steadfast.toml: shards: \"many\" will not do"), "{error}");
    let error = serve("tls-cert = \"cert.pem\"");
    assert!(error.contains("tls-cert and tls-key belong together"), "{error}");
    assert_eq!(fs::read_dir(&here).expect("readable").count(), 1, "only the config file is there");

    let answer = output(&["serve", "--config", "none.toml"]);
    assert_eq!(answer.status.code(), Some(1));
    assert!(text(&answer.stderr).starts_with("error: reading none.toml"));
}

#[test]
fn an_address_for_everybody_without_keys_exits_with_1_and_says_what_to_do() {
    let here = folder("exposed");
    let db = here.join("a.db").display().to_string();
    let answer = output(&["serve", "--db", &db, "--grpc", "0.0.0.0:0", "--http", "off"]);
    assert_eq!(answer.status.code(), Some(1));
    let error = text(&answer.stderr);
    for part in ["0.0.0.0:0 can be reached from other machines", "steadfast key create"] {
        assert!(error.contains(part), "no {part} in {error}");
    }
    assert_eq!(fs::read_dir(&here).expect("readable").count(), 0, "no data was touched");
}

#[test]
fn an_address_that_is_taken_exits_with_1_and_touches_nothing() {
    let here = folder("taken");
    let db = here.join("a.db").display().to_string();
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = other.local_addr().expect("an address").to_string();
    for doors in [["--grpc", &taken, "--http", "off"], ["--grpc", "127.0.0.1:0", "--http", &taken]]
    {
        let answer = steadfast(&["serve", "--db", &db]).args(doors).output();
        let answer = answer.expect("the binary starts");
        assert_eq!(answer.status.code(), Some(1));
        let error = text(&answer.stderr);
        let told = error.lines().last().expect("a line");
        assert!(told.starts_with(&format!("error: cannot listen on {taken}: ")), "{error}");
        assert_eq!(told.matches("in use").count(), 1, "{error}");
        assert_eq!(fs::read_dir(&here).expect("readable").count(), 0, "no data was touched");
    }
}

#[test]
fn a_key_is_shown_once_with_the_lines_for_the_server() {
    let answer = output(&["key", "create", "--namespace", "orders", "--right", "write"]);
    assert_eq!(answer.status.code(), Some(0));
    let said = text(&answer.stdout);
    let word = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a line").trim().to_owned()
    };
    assert!(word("key").starts_with("steadfast_"));
    let file = word("config file");
    assert!(file.starts_with("keys = [\"write:orders:") && file.ends_with("\"]"), "{file}");
    assert!(!file.contains(&word("key")), "the config file does not hold the key");
    assert_eq!(output(&["key", "create"]).status.code(), Some(2));
}
