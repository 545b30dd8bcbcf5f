//! `hold redis|valkey`: a server to try things on, until standard input ends.

use tollgate_servers::Server;

fn main() {
    let valkey = std::env::args().nth(1).is_some_and(|kind| kind == "valkey");
    let server = if valkey { Server::valkey() } else { Server::redis() }.start();
    println!("{} {}", server.url(), server.pid());
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}
