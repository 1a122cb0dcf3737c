//! Commands against a server that asks who calls: certificates and keys.

use std::{fs, path::Path, process::Command};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use steadfast::{App, Failure, WorkflowContext};

use super::{FREE, Serving, made_key};
use crate::{folder, steadfast, text};

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Writes an authority, which is `<name>-ca.pem`.
fn authority(folder: &Path, name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
    let authority = authority.expect("an authority");
    fs::write(folder.join(format!("{name}-ca.pem")), authority.pem()).expect("writable");
    authority
}

/// Writes a certificate of the authority for a host, `<name>.pem`, and its key, `<name>-key.pem`.
fn certificate(folder: &Path, name: &str, host: &str, authority: &Authority) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![host.to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    fs::write(folder.join(format!("{name}.pem")), certificate.pem()).expect("writable");
    fs::write(folder.join(format!("{name}-key.pem")), key.serialize_pem()).expect("writable");
}

/// A server with a certificate for a host, by the authority `server-ca.pem`.
fn secured(here: &Path, host: &str) -> Command {
    certificate(here, "server", host, &authority(here, "server"));
    let mut command = steadfast(&FREE);
    command.args(["--tls-cert", "server.pem", "--tls-key", "server-key.pem", "--db", "a.db"]);
    command.current_dir(here);
    command
}

/// One that wants to see certificates, too: it lets `mine` in, and not `forged`.
fn guarded(here: &Path, host: &str) -> Command {
    certificate(here, "mine", "me", &authority(here, "clients"));
    certificate(here, "forged", "me", &authority(here, "other"));
    let mut command = secured(here, host);
    command.args(["--tls-client-ca", "clients-ca.pem"]);
    command
}

/// What `namespace describe default` comes to: the exit code, and the error.
fn ask(here: &Path, serving: &Serving, flags: &[&str]) -> (Option<i32>, String) {
    let port = serving.said("gRPC").rsplit(':').next().expect("a port");
    let mut command = steadfast(&["namespace", "describe", "default", "--address"]);
    command.arg(format!("localhost:{port}")).args(flags).current_dir(here);
    let output = command.output().expect("the binary starts");
    (output.status.code(), text(&output.stderr))
}

const OK: (Option<i32>, String) = (Some(0), String::new());

#[test]
fn a_server_is_believed_if_the_named_authority_vouches_for_it() {
    let here = folder("secured_server");
    authority(&here, "other");
    let serving = Serving::start(&mut secured(&here, "localhost"));
    assert_eq!(ask(&here, &serving, &["--tls-ca-path", "server-ca.pem"]), OK);
    let (code, error) = ask(&here, &serving, &["--tls-ca-path", "other-ca.pem"]);
    assert_eq!(code, Some(4), "{error}");
    assert!(error.contains("invalid peer certificate"), "{error}");
    let (code, error) = ask(&here, &serving, &["--tls"]);
    assert_eq!(code, Some(4), "this machine trusts no such authority: {error}");
    let (code, error) = ask(&here, &serving, &[]);
    assert_eq!(code, Some(4), "plain: {error}");
    assert!(error.contains("this server speaks TLS: connect with it (--tls speaks"), "{error}");
    let (code, error) = ask(&here, &serving, &["--tls-ca-path", "none.pem"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--tls-ca-path none.pem cannot be read"), "{error}");
    serving.stop();
}

#[test]
fn a_certificate_of_another_name_is_believed_if_that_name_is_given() {
    let here = folder("secured_name");
    let serving = Serving::start(&mut secured(&here, "engine.internal"));
    let trust = ["--tls-ca-path", "server-ca.pem"];
    let (code, error) = ask(&here, &serving, &trust);
    assert_eq!(code, Some(4), "{error}");
    let named = [&trust[..], &["--tls-server-name", "engine.internal"]].concat();
    assert_eq!(ask(&here, &serving, &named), OK);
    serving.stop();
}

#[test]
fn a_server_that_wants_certificates_lets_in_who_has_one() {
    let here = folder("secured_clients");
    let serving = Serving::start(&mut guarded(&here, "localhost"));
    let with = |certificate: &[&str]| {
        ask(&here, &serving, &[&["--tls-ca-path", "server-ca.pem"][..], certificate].concat())
    };
    assert_eq!(with(&["--tls-cert-path", "mine.pem", "--tls-key-path", "mine-key.pem"]), OK);
    let forged = ["--tls-cert-path", "forged.pem", "--tls-key-path", "forged-key.pem"];
    for (certificate, code) in [(&[][..], 4), (&forged, 4), (&forged[..2], 2)] {
        let (told, error) = with(certificate);
        assert_eq!(told, Some(code), "{certificate:?}: {error}");
    }
    serving.stop();
}

#[test]
fn a_server_that_wants_keys_lets_in_who_has_one() {
    let here = folder("secured_keys");
    let (key, keys) = made_key("default", "read");
    let mut command = steadfast(&FREE);
    command.args(["--db", "a.db"]).env("STEADFAST_KEYS", keys);
    let serving = Serving::start(command.current_dir(&here));
    assert_eq!(ask(&here, &serving, &["--api-key", &key]), OK);
    let (code, error) = ask(&here, &serving, &[]);
    assert_eq!(code, Some(1));
    assert!(error.contains("asks for a key") && error.contains("--api-key"), "{error}");
    let (code, error) = ask(&here, &serving, &["--api-key", "guessed"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("the key is not known"), "{error}");
    let mut command = steadfast(&["workflow", "terminate", "-w", "x", "--address"]);
    command.arg(serving.said("gRPC")).env("STEADFAST_API_KEY", &key);
    let output = command.output().expect("the binary starts");
    assert!(text(&output.stderr).contains("the key may not write"), "{output:?}");
    serving.stop();
}

/// What `errors` comes to, which asks the HTTP door: the exit code, and the error.
fn ask_http(here: &Path, serving: &Serving, flags: &[&str]) -> (Option<i32>, String) {
    let port = serving.said("HTTP").rsplit(':').next().expect("a port");
    let mut command = steadfast(&["errors", "--http-address"]);
    command.arg(format!("localhost:{port}")).args(flags).current_dir(here);
    let output = command.output().expect("the binary starts");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn the_http_door_asks_for_the_same_certificates_and_keys() {
    let here = folder("secured_http");
    let (key, keys) = made_key("default", "read");
    let serving = Serving::start(guarded(&here, "localhost").env("STEADFAST_KEYS", keys));
    assert!(serving.said("HTTP").starts_with("https://"), "{:?}", serving.said);
    let trust = ["--tls-ca-path", "server-ca.pem"];
    let mine = ["--tls-cert-path", "mine.pem", "--tls-key-path", "mine-key.pem"];
    let forged = ["--tls-cert-path", "forged.pem", "--tls-key-path", "forged-key.pem"];
    let key = ["--api-key", key.as_str()];
    let ask = |flags: &[&[&str]]| ask_http(&here, &serving, &flags.concat());
    assert_eq!(ask(&[&trust, &mine, &key]), OK);
    let (code, error) = ask(&[&trust, &mine]);
    assert_eq!(code, Some(1), "without a key: {error}");
    assert!(error.contains("asks for a key"), "{error}");
    for flags in [&[&trust[..], &key][..], &[&trust, &forged, &key], &[&mine, &key, &["--tls"]]] {
        let (code, error) = ask(flags);
        assert_eq!(code, Some(4), "{flags:?}: {error}");
    }
    let (code, error) = ask(&[&key]);
    assert_eq!(code, Some(4), "plain: {error}");
    assert!(error.contains("this server speaks TLS: connect with it (--tls speaks"), "{error}");
    serving.stop();
}

#[test]
fn who_asks_for_tls_where_there_is_none_is_told_so() {
    let here = folder("unsecured");
    authority(&here, "other");
    let serving = Serving::start(steadfast(&FREE).arg("--db").arg(here.join("a.db")));
    let (code, error) = ask(&here, &serving, &["--tls-ca-path", "other-ca.pem"]);
    assert_eq!(code, Some(4), "{error}");
    assert!(error.contains("does not speak TLS: leave out what asks for it"), "{error}");
    let noted = serving.stop();
    assert!(noted.contains("a client speaks TLS, and this server does not"), "{noted}");
}

async fn greeting(_: WorkflowContext, name: String) -> Result<String, Failure> {
    Ok(format!("Hello, {name}!"))
}

/// A program with the Rust SDK shows what the server asks for.
#[tokio::test(flavor = "multi_thread")]
async fn programs_show_their_certificate_and_their_key() {
    let here = folder("secured_program");
    let (key, keys) = made_key("default", "write");
    let serving = Serving::start(guarded(&here, "engine.internal").env("STEADFAST_KEYS", keys));
    let port = serving.said("gRPC").rsplit(':').next().expect("a port");
    let read = |name: &str| fs::read(here.join(name)).expect("readable");
    let app = || {
        App::builder(format!("localhost:{port}"))
            .workflow(greeting)
            .tls_ca(read("server-ca.pem"))
            .tls_identity(read("mine.pem"), read("mine-key.pem"))
            .tls_server_name("engine.internal")
    };
    let known = app().api_key(&key).start().await.expect("it starts");
    let greeted = known.client().start(greeting, "you".to_owned()).await.expect("it is let in");
    assert_eq!(greeted.result().await.expect("a result"), "Hello, you!");
    known.shutdown().await;
    let unknown = app().api_key("guessed").start().await.expect("it starts");
    let refused =
        unknown.client().start(greeting, "you".to_owned()).await.expect_err("no such key");
    assert!(refused.to_string().contains("the key is not known"), "{refused}");
    unknown.shutdown().await;
    let unsayable = app().api_key("a\nb").start().await.expect_err("no header has a line break");
    assert!(unsayable.to_string().contains("API key"), "{unsayable}");
    serving.stop();
}
