//! Who is asked: each proxy alone, with three limits that never refuse, and refusing everything.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use super::load::{self, Wire};
use super::program::{Folder, Program, free_port};

/// A proxy in one of its forms.
pub struct Contender {
    /// How tables call it.
    pub name: &'static str,
    /// What it answers.
    pub status: u16,
    /// How it is spoken to.
    pub wire: Wire,
    /// Where.
    pub address: SocketAddr,
    /// The process.
    pub program: Program,
}

impl Contender {
    /// Lets it see every key once. Where all is refused, the first requests may still pass.
    pub fn warm_up(&self, requests: &[Vec<u8>]) {
        load::touch(self.address, &self.wire, requests);
    }
}

/// What a proxy is to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Pass,
    Limit,
    Refuse,
}

const NGINX: [(&str, Task); 3] =
    [("nginx", Task::Pass), ("nginx, limit_req", Task::Limit), ("nginx refuses", Task::Refuse)];
const HAPROXY: [(&str, Task); 3] = [
    ("HAProxy", Task::Pass),
    ("HAProxy, stick tables", Task::Limit),
    ("HAProxy refuses", Task::Refuse),
];
const TOLLGATE: [(&str, Task); 3] = [
    ("tollgate", Task::Pass),
    ("tollgate, three limits", Task::Limit),
    ("tollgate refuses", Task::Refuse),
];

/// Starts all of them in front of this upstream; `gateway` is the program of ours.
pub fn start(gateway: &str, upstream: SocketAddr) -> Vec<Contender> {
    let mut all = Vec::new();
    all.extend(NGINX.map(|(name, task)| nginx(name, task, upstream)));
    all.extend(HAPROXY.map(|(name, task)| haproxy(name, task, upstream)));
    all.extend(TOLLGATE.map(|(name, task)| tollgate(gateway, name, task, upstream)));
    all.push(tollgate_without_headers(gateway, upstream));
    all.push(tollgate_with_tls(gateway, upstream));
    all
}

fn local() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()))
}

fn nginx(name: &'static str, task: Task, upstream: SocketAddr) -> Contender {
    let (address, folder) = (local(), Folder::new());
    let zones = |rate: &str| {
        format!(
            "limit_req_zone $http_x_api_key zone=key:32m rate={rate};\n\
             limit_req_zone $binary_remote_addr zone=client:1m rate={rate};\n\
             limit_req_zone $server_name zone=all:1m rate={rate};\n\
             limit_req_status 429;\n"
        )
    };
    let limits = |burst: &str| {
        ["key", "client", "all"].map(|zone| format!("limit_req zone={zone}{burst};\n")).concat()
    };
    let (zones, limits, status) = match task {
        Task::Pass => (String::new(), String::new(), 200),
        Task::Limit => (zones("1000000r/s"), limits(" burst=1000000 nodelay"), 200),
        Task::Refuse => (zones("1r/m"), limits(""), 429),
    };
    let path = folder.path().display();
    let text = format!(
        "worker_processes 1;\nerror_log /dev/null crit;\npid {path}/pid;\ndaemon off;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
         access_log off;\nclient_body_temp_path {path}/body;\nproxy_temp_path {path}/proxy;\n\
         fastcgi_temp_path {path}/f;\nuwsgi_temp_path {path}/u;\nscgi_temp_path {path}/s;\n\
         keepalive_requests 1000000000;\n{zones}\
         upstream service {{ server {upstream}; keepalive 128; keepalive_requests 1000000000; }}\n\
         server {{ listen {address}; server_name bench;\nlocation / {{\n{limits}\
         proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
         proxy_set_header X-Forwarded-For $remote_addr;\n}} }} }}\n"
    );
    let file = folder.file("nginx.conf", &text);
    let program = Program::start(&["nginx", "-c", &file], address, folder);
    Contender { name, status, wire: Wire::Plain, address, program }
}

fn haproxy(name: &'static str, task: Task, upstream: SocketAddr) -> Contender {
    let (address, folder) = (local(), Folder::new());
    let most: u32 = if task == Task::Refuse { 0 } else { 1_000_000_000 };
    let table = |name: &str, form: &str| {
        format!(
            "backend {name}\n  stick-table type {form} size 200k expire 60s store http_req_rate(60s)\n"
        )
    };
    let (rules, tables, status) = if task == Task::Pass {
        (String::new(), String::new(), 200)
    } else {
        let rules = format!(
            "  http-request track-sc0 hdr(x-api-key) table key\n  \
             http-request track-sc1 src table client\n  \
             http-request track-sc2 int(1) table all\n  \
             http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt {most} }}\n  \
             http-request deny deny_status 429 if {{ sc_http_req_rate(1) gt {most} }}\n  \
             http-request deny deny_status 429 if {{ sc_http_req_rate(2) gt {most} }}\n"
        );
        let tables =
            table("key", "string len 32") + &table("client", "ip") + &table("all", "integer");
        (rules, tables, if task == Task::Refuse { 429 } else { 200 })
    };
    let text = format!(
        "global\n  nbthread 1\n  maxconn 1024\n\
         defaults\n  mode http\n  timeout client 60s\n  timeout server 60s\n  timeout connect 5s\n  \
         option http-keep-alive\n  http-reuse always\n\
         frontend in\n  bind {address}\n  option forwardfor\n{rules}  default_backend service\n\
         {tables}backend service\n  server one {upstream}\n"
    );
    let file = folder.file("haproxy.cfg", &text);
    let program = Program::start(&["haproxy", "-db", "-f", &file], address, folder);
    Contender { name, status, wire: Wire::Plain, address, program }
}

fn limits(task: Task) -> String {
    let rate = match task {
        Task::Pass => return String::new(),
        // Keys that owe something are kept, as those of nginx are.
        Task::Limit => "1/minute burst 10000000",
        Task::Refuse => "1/day",
    };
    let limits = [("key", "header:x-api-key"), ("client", "client"), ("all", "global")];
    let limit =
        |(name, by)| format!("[[limit]]\nname = \"{name}\"\nrate = \"{rate}\"\nby = \"{by}\"\n");
    limits.map(limit).concat()
}

fn gateway(
    program: &str,
    rest: &str,
    upstream: SocketAddr,
    folder: Folder,
) -> (SocketAddr, Program) {
    let address = local();
    let text = format!(
        "{rest}[server]\nlisten = \"{address}\"\nupstream = \"http://{upstream}\"\nmetrics = \"off\"\n"
    );
    let file = folder.file("limits.toml", &text);
    (address, Program::start(&[program, "serve", &file], address, folder))
}

fn tollgate(program: &str, name: &'static str, task: Task, upstream: SocketAddr) -> Contender {
    let (address, program) = gateway(program, &limits(task), upstream, Folder::new());
    // One request of the day has passed once this is said.
    let status = if task == Task::Refuse { 429 } else { 200 };
    Contender { name, status, wire: Wire::Plain, address, program }
}

fn tollgate_without_headers(program: &str, upstream: SocketAddr) -> Contender {
    let rest = format!("{}[answer]\nheaders = \"none\"\n", limits(Task::Limit));
    let (address, program) = gateway(program, &rest, upstream, Folder::new());
    let name = "tollgate, three limits, no headers of them";
    Contender { name, status: 200, wire: Wire::Plain, address, program }
}

fn tollgate_with_tls(program: &str, upstream: SocketAddr) -> Contender {
    let folder = Folder::new();
    let names = vec!["bench".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate can be made");
    let certificate = folder.file("certificate.pem", &made.cert.pem());
    let key = folder.file("key.pem", &made.signing_key.serialize_pem());
    let rest = format!(
        "{}[server.tls]\ncertificates = [{{ certificate = \"{certificate}\", key = \"{key}\" }}]\n",
        limits(Task::Limit)
    );
    let (address, program) = gateway(program, &rest, upstream, folder);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("it is a certificate");
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ));
    let config = config.with_safe_default_protocol_versions().expect("they are known");
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = "tollgate, three limits, TLS";
    Contender { name, status: 200, wire: Wire::Tls(Arc::new(config)), address, program }
}
