//! Encrypted connections, certificates of clients, and certificates that change.

use std::{fs, path::Path};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use steadfast_engine::Limits;
use steadfast_proto::{clients::WorkflowServiceClient, workflowservice as ws};
use steadfast_server::{OpenError, Options as Doors, Server, TlsError, TlsFiles};
use tonic::{
    Code,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::{
    common::{World, code_and_text, doors},
    wrong_door::{browse, connect},
};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A certificate for this machine, and its key.
fn certificate(authority: &Authority) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}

fn write(folder: &Path, server: &Authority, client: Option<&Authority>) -> TlsFiles {
    let (cert, key) = certificate(server);
    let files = TlsFiles {
        cert: folder.join("cert.pem"),
        key: folder.join("key.pem"),
        client_ca: client.map(|_| folder.join("client-ca.pem")),
    };
    fs::write(&files.cert, cert).expect("writable");
    fs::write(&files.key, key).expect("writable");
    if let (Some(path), Some(authority)) = (&files.client_ca, client) {
        fs::write(path, authority.pem()).expect("writable");
    }
    files
}

async fn world(files: &TlsFiles) -> World {
    World::with(Limits::default(), Doors { tls: Some(files.clone()), ..doors() }).await
}

/// Whether somebody who trusts `server`, with a certificate or without, is answered.
async fn is_answered(world: &World, server: &Authority, mine: Option<&Authority>) -> bool {
    let mut tls = ClientTlsConfig::new()
        .domain_name("localhost")
        .ca_certificate(Certificate::from_pem(server.pem()));
    if let Some(authority) = mine {
        let (cert, key) = certificate(authority);
        tls = tls.identity(Identity::from_pem(cert, key));
    }
    let endpoint = Endpoint::from_shared(format!("https://{}", world.server.grpc()))
        .and_then(|endpoint| endpoint.tls_config(tls))
        .expect("an address");
    let Ok(channel) = endpoint.connect().await else { return false };
    asks(channel).await
}

async fn asks(channel: Channel) -> bool {
    let mut client = WorkflowServiceClient::new(channel);
    client.get_system_info(ws::GetSystemInfoRequest::default()).await.is_ok()
}

#[tokio::test]
async fn connections_are_encrypted_and_plain_ones_are_not_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = authority();
    let world = world(&write(folder.path(), &authority, None)).await;
    assert!(is_answered(&world, &authority, None).await);
    assert!(!is_answered(&world, &self::authority(), None).await, "whom we do not trust");
    let words = "this server speaks TLS: connect with it";
    let told = connect(world.server.grpc()).await;
    assert_eq!(code_and_text(&told), (Code::FailedPrecondition, words));
    for address in [world.server.grpc(), world.server.http().expect("pages")] {
        let shown = browse(address, "GET / HTTP/1.1\r\nhost: here\r\n\r\n").await;
        assert!(shown.contains(words) && shown.contains(" 421 "), "{shown}");
    }
    let garbage = browse(world.server.grpc(), "hello there").await;
    assert!(garbage.starts_with('\u{15}'), "an alert of TLS: {garbage:?}");
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_authority_are_let_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let (authority, clients) = (authority(), authority());
    let world = world(&write(folder.path(), &authority, Some(&clients))).await;
    assert!(is_answered(&world, &authority, Some(&clients)).await);
    assert!(!is_answered(&world, &authority, None).await);
    assert!(!is_answered(&world, &authority, Some(&self::authority())).await);
}

#[tokio::test]
async fn changed_certificates_are_used_and_broken_ones_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, new) = (authority(), authority());
    let files = write(folder.path(), &old, None);
    let world = world(&files).await;
    assert!(is_answered(&world, &old, None).await);
    write(folder.path(), &new, None);
    assert!(is_answered(&world, &new, None).await);
    assert!(!is_answered(&world, &old, None).await);
    fs::write(&files.cert, "not a certificate").expect("writable");
    assert!(is_answered(&world, &new, None).await, "what was read before stays in use");
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::new().await;
    let open = async |files: TlsFiles| {
        let options = Doors { tls: Some(files), ..doors() };
        Server::open(world.engine.clone(), options).await.expect_err("they cannot be used")
    };
    let files = write(folder.path(), &authority(), None);
    let missing = TlsFiles { cert: folder.path().join("none.pem"), ..files.clone() };
    let error = open(missing).await;
    assert!(matches!(error, OpenError::Tls(TlsError::Read { .. })), "{error}");
    assert!(error.to_string().contains("none.pem"), "{error}");

    let swapped = TlsFiles { cert: files.key.clone(), key: files.cert.clone(), client_ca: None };
    let error = open(swapped).await.to_string();
    assert!(error.contains("key.pem holds no usable certificate"), "{error}");

    let (_, other) = certificate(&authority());
    fs::write(&files.key, other).expect("writable");
    let error = open(files).await;
    assert!(matches!(error, OpenError::Tls(TlsError::Unusable(_))), "{error}");
}
