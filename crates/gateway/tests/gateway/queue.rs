//! Clients who come all at once.

use std::net::TcpStream;
use std::time::Duration;

use crate::client::Client;
use crate::program::Program;

#[test]
fn a_burst_of_clients_waits_in_the_queue_and_is_answered() {
    let gateway = Program::serve(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n[server.sizes]\nconnections = 1\n",
    );
    let first = Client::connect(gateway.address);
    // A queue of 128, as is usual, would let these run into their timeout.
    let burst: Vec<_> = (0..400)
        .map(|_| TcpStream::connect_timeout(&gateway.address, Duration::from_millis(500)))
        .collect();
    assert!(burst.iter().all(Result::is_ok), "not all were let in");
    drop((first, burst));
    assert_eq!(Client::ask(gateway.address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
}
