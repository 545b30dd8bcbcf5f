//! TLS with good certificates and bad ones.

use std::time::Duration;

use redis::Value;
use tollgate_redis::{Address, Class, Options, Ran};
use tollgate_servers::{Clients, Server};

use crate::asking::{Asked, Told, assert_fault, pause, soon, start, start_at};

fn trusting(server: &Server) -> Address {
    let address: Address = server.url().parse().unwrap();
    address.ca_file(server.certificates().authority()).unwrap()
}

async fn refused(mut asked: Asked) -> String {
    asked.until(Told::Unreachable(Class::Tls)).await;
    let fault = asked.ask(&["PING"]).await.unwrap_err();
    assert_eq!((fault.class(), fault.ran()), (Class::Tls, Ran::Never));
    fault.to_string()
}

#[tokio::test]
async fn a_known_authority_is_believed_and_an_unknown_one_is_not() {
    let server = Server::redis().tls(Clients::Anonymous).start();
    let mut asked = start_at(&trusting(&server), Options::default());
    asked.until(Told::Connected).await;
    assert_eq!(asked.ask(&["SET", "k", "v"]).await.unwrap(), Value::Okay);

    let said = refused(start(&server.url())).await;
    assert!(said.contains("UnknownIssuer") || said.contains("no certificate authority"), "{said}");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let server = Server::redis().tls(Clients::Anonymous).start();
    let address: Address = format!("rediss://127.0.0.2:{}", server.tls_port()).parse().unwrap();
    let address = address.ca_file(server.certificates().authority()).unwrap();
    server.command(&["CONFIG", "SET", "bind", "127.0.0.1 127.0.0.2"]);
    let said = refused(start_at(&address, Options::default())).await;
    assert!(said.contains("not valid for"), "{said}");
}

#[tokio::test]
async fn an_expired_certificate_spares_open_connections_and_heals_when_renewed() {
    let server = Server::redis().tls(Clients::Anonymous).start();
    let mut asked = start_at(&trusting(&server), Options::default());
    asked.until(Told::Connected).await;
    server.renew_certificate(Duration::ZERO);
    asked.ask(&["PING"]).await.unwrap();

    // It expires with the current second.
    soon(async {
        loop {
            server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
            asked.until(Told::Disconnected(Class::Dropped)).await;
            match asked.events.recv().await.unwrap() {
                Told::Connected => pause().await,
                told => return assert_eq!(told, Told::Unreachable(Class::Tls)),
            }
        }
    })
    .await;
    assert_fault(asked.ask(&["PING"]).await, Class::Tls, Ran::Never);
    server.renew_certificate(Duration::from_secs(3_600));
    assert!(asked.until(Told::Connected).await < Duration::from_secs(2));
}

#[tokio::test]
async fn a_certificate_is_shown_where_one_is_asked_for() {
    let server = Server::redis().tls(Clients::Certified).start();
    let certificates = server.certificates();
    let address = trusting(&server)
        .client_certificate(certificates.client(), certificates.client_key())
        .unwrap();
    let mut asked = start_at(&address, Options::default());
    asked.until(Told::Connected).await;
    asked.ask(&["PING"]).await.unwrap();

    // A client learns that its certificate is missed only after its own handshake is done.
    let mut asked = start_at(&trusting(&server), Options::default());
    let class = loop {
        if let Told::Unreachable(class) = asked.events.recv().await.unwrap() {
            break class;
        }
    };
    assert!(matches!(class, Class::Dropped | Class::Tls), "{class}");
}

#[tokio::test]
async fn a_port_without_tls_is_told() {
    let server = Server::redis().start();
    let mut asked = start(&format!("rediss://127.0.0.1:{}", server.port()));
    asked.until(Told::Unreachable(Class::Timeout)).await;
    let said = asked.link.state()[0].fault.clone().unwrap().to_string();
    assert!(said.contains("not be one for TLS"), "{said}");
}

#[tokio::test]
async fn verification_is_off_only_where_both_flags_say_so() {
    let server = Server::redis().tls(Clients::Anonymous).start();
    let asked: Address = format!("{}#insecure", server.url()).parse().unwrap();
    let said = refused(start_at(&asked, Options::default())).await;
    assert!(said.contains("nothing allows it"), "{said}");
    let mut link = start_at(&asked.allow_insecure().unwrap(), Options::default());
    link.until(Told::Connected).await;
    link.ask(&["PING"]).await.unwrap();
}
