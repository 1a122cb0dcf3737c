//! The binary as a user meets it: arguments, output, exit codes.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
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
    let nowhere = here.join("no/such/folder/a.db").display().to_string();
    let answer = output(&["serve", "--db", &nowhere]);
    assert_eq!(answer.status.code(), Some(1));
    let error = text(&answer.stderr);
    assert!(error.starts_with("error: cannot open the data file"), "{error}");
    assert!(error.contains(&nowhere), "{error}");

    let answer = output(&["serve", "--db", &here.display().to_string()]);
    assert_eq!(answer.status.code(), Some(1));
    assert!(text(&answer.stderr).contains("is a folder; --db names a file"));
}

#[test]
fn a_file_that_is_not_ours_exits_with_1_and_is_left_as_it_was() {
    let file = folder("not_ours").join("a.db");
    fs::write(&file, "a letter").expect("writable");
    let answer = output(&["serve", "--db", &file.display().to_string()]);
    assert_eq!(answer.status.code(), Some(1));
    assert!(text(&answer.stderr).contains("was not opened"), "{}", text(&answer.stderr));
    assert_eq!(fs::read_to_string(&file).expect("readable"), "a letter");
}

#[cfg(unix)]
#[test]
fn serve_says_what_it_has_and_stops_when_asked() {
    for signal in ["INT", "TERM"] {
        let db = folder(&format!("serve_{signal}")).join("a.db");
        let mut child =
            steadfast(&["serve", "--grpc", "127.0.0.1:0", "--db", &db.display().to_string()])
                .stdout(Stdio::piped())
                .spawn()
                .expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut line = || lines.next().expect("another line").expect("text");

        assert_eq!(line(), format!("steadfast {}", env!("CARGO_PKG_VERSION")));
        assert_eq!(line(), format!("data   {}", db.display()));
        assert!(line().starts_with("gRPC   127.0.0.1:"));
        assert_eq!(line(), "press Ctrl-C to stop");

        let sent = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status()
            .expect("kill starts");
        assert!(sent.success());
        assert_eq!(line(), "stopped");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
        let kept = fs::read(&db).expect("readable");
        assert!(kept.starts_with(b"SQLite format 3"), "a data file is there");
    }
}
