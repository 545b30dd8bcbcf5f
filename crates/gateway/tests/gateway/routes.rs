//! Which upstream a request goes to, and what changes on its way.

use std::io::Write;

use crate::client::Client;
use crate::program::{self, Program, Scratch};
use crate::upstream::{Keep, Upstream};

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: h\r\nX-Internal: 1\r\n\r\n")
}

fn upstream(name: &str, upstream: &Upstream) -> String {
    format!("[[upstream]]\nname = {name:?}\nservers = [\"http://{}\"]\n", upstream.address)
}

const SERVER: &str = "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n";

#[test]
fn the_first_route_that_fits_takes_the_request() {
    let (api, web) = (Upstream::start(), Upstream::start());
    let routes = "[[route]]\nwhen = { path = \"/api/*\" }\nupstream = \"api\"\n\
        strip_prefix = \"/api\"\nadd_prefix = \"/v2\"\n\
        [[route]]\nwhen = \"GET /web /api/*\"\nupstream = \"web\"\n";
    let config = format!("{SERVER}{routes}{}{}", upstream("api", &api), upstream("web", &web));
    let gateway = Program::serve(&config);
    for (target, status) in [
        ("/api/users?q=/api", 200),
        ("/api", 200),
        ("//x/../api/./a%62/", 200),
        ("/apis", 404),
        ("/web", 200),
        ("/webs", 404),
        ("/", 404),
    ] {
        assert_eq!(Client::ask(gateway.address, &get(target)).status, status, "{target}");
    }
    assert_eq!(api.asked(), ["GET /v2/users?q=/api", "GET /v2/", "GET /v2/ab/"]);
    assert_eq!(web.asked(), ["GET /web"]);
    let lost = Client::ask(gateway.address, &get("/lost"));
    assert_eq!(lost.header("content-type"), Some("application/problem+json"));
    assert!(lost.text().contains("no route"), "{}", lost.text());
    for line in
        ["/api/* to http://", "GET /web /api/* to http://", "everything else is answered 404"]
    {
        assert!(gateway.banner.contains(line), "{line} is missing in {}", gateway.banner);
    }
}

#[test]
fn a_route_may_ask_for_whatever_a_request_shows() {
    let (beta, app) = (Upstream::start(), Upstream::start());
    let config = format!(
        "{SERVER}[[route]]\nupstream = \"beta\"\nwhen = {{ host = \"*.test\", \
         header = {{ x-beta = \"1\" }}, client = \"127.0.0.0/8\", not = {{ query = {{ old = true }} }} }}\n\
         [[route]]\nupstream = \"app\"\n{}{}",
        upstream("beta", &beta),
        upstream("app", &app)
    );
    let gateway = Program::serve(&config);
    for (target, host, value) in [
        ("/1", "a.test", "1"),
        ("/2", "a.example", "1"),
        ("/3", "a.test", "2"),
        ("/4?old=1", "a.test", "1"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nX-Beta: {value}\r\n\r\n");
        assert_eq!(Client::ask(gateway.address, &request).status, 200);
    }
    assert_eq!(beta.asked(), ["GET /1"]);
    assert_eq!(app.asked(), ["GET /2", "GET /3", "GET /4?old=1"]);
    assert!(!gateway.banner.contains("everything else"), "{}", gateway.banner);
}

#[test]
fn a_route_that_strips_a_prefix_is_for_paths_that_have_it() {
    let (stripped, other) = (Upstream::start(), Upstream::start());
    // Limits see both paths as `/api/a`; the upstream would not.
    let config = format!(
        "{SERVER}upstream = \"http://{}\"\n\
         [[route]]\nwhen = \"/api/*\"\nupstream = \"api\"\nstrip_prefix = \"/api\"\n{}",
        other.address,
        upstream("api", &stripped)
    );
    let gateway = Program::serve(&config);
    for target in ["/api/a", "/api;v=1/a"] {
        assert_eq!(Client::ask(gateway.address, &get(target)).status, 200);
    }
    assert_eq!(stripped.asked(), ["GET /a"]);
    assert_eq!(other.asked(), ["GET /api;v=1/a"]);
}

#[test]
fn headers_are_set_and_taken_off_both_ways() {
    let app = Upstream::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: app/1\r\nX-Debug: 1\r\n\r\nok",
    );
    let config = format!(
        "{SERVER}[[route]]\nupstream = \"app\"\n\
         request_headers = {{ set = {{ x-service = \"shop\", authorization = \"Basic eA==\" }}, \
         remove = [\"x-internal\", \"x-forwarded-host\"] }}\n\
         response_headers = {{ set = {{ x-frame-options = \"deny\" }}, remove = [\"server\", \
         \"x-debug\", \"ratelimit\"] }}\n[[limit]]\nname = \"all\"\nrate = \"9/hour\"\n{}",
        upstream("app", &app)
    );
    let gateway = Program::serve(&config);
    let request = "GET /g HTTP/1.1\r\nHost: h\r\nX-Internal: 1\r\nX-Service: mine\r\n\
        Authorization: Bearer x\r\n\r\n";
    let answer = Client::ask(gateway.address, request);
    assert_eq!((answer.header("server"), answer.header("x-debug")), (None, None));
    assert_eq!(answer.header("x-frame-options"), Some("deny"));
    assert!(answer.header("ratelimit").is_some(), "what the limits say is not the upstream's");
    let seen = app.seen().remove(0);
    assert_eq!((seen.header("x-service"), seen.lines("x-service")), (Some("shop"), 1));
    assert_eq!(seen.header("authorization"), Some("Basic eA=="));
    assert_eq!((seen.header("x-internal"), seen.header("x-forwarded-host")), (None, None));
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
}

#[test]
fn a_route_has_a_patience_of_its_own() {
    let app = Upstream::with(|seen, stream| {
        if seen.what() == "GET /fast" {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        }
        Keep::Open
    });
    let config = format!(
        "{SERVER}[[route]]\nwhen = \"/slow\"\nupstream = \"app\"\ntimeout = \"100ms\"\n\
         [[route]]\nupstream = \"app\"\n{}",
        upstream("app", &app)
    );
    let gateway = Program::serve(&config);
    assert_eq!(Client::ask(gateway.address, &get("/slow")).status, 504);
    assert_eq!(Client::ask(gateway.address, &get("/fast")).status, 200);
}

#[test]
fn the_documented_examples_are_files_that_can_be_used() {
    let document = include_str!("../../docs/upstreams.md");
    let examples: Vec<_> = document.split("```toml\n").skip(1).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let file = Scratch::new("example.toml", example.split("```").next().unwrap());
        let output = program::run(&["check", file.path()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

#[test]
fn what_a_file_says_of_upstreams_and_routes_is_checked() {
    const APP: &str = "[[upstream]]\nname = \"app\"\nservers = [\"http://10.0.0.1\"]\n";
    let cases = [
        ("[[upstream]]\nname = \"a\"\nservers = []\n", "1 to 256 servers"),
        ("[[upstream]]\nservers = [\"http://10.0.0.1\"]\n", "`upstream.name` is missing"),
        ("[[upstream]]\nname = \"a\"\nservers = [\"ftp://h\"]\n", "neither over `http://`"),
        ("[[upstream]]\nname = \"a\"\nservers = [\"http://h\", \"http://h\"]\n", "listed before"),
        ("[[upstream]]\nname = \"a\"\nservers = [\"http://127.0.0.1:8080\"]\n", "gateway itself"),
        (
            "[[upstream]]\nname = \"a\"\nservers = [\"http://h\"]\nca_file = \"x\"\n",
            "means nothing",
        ),
        ("[[upstream]]\nname = \"a\"\nservers = [\"https://h\"]\nca_file = \"/no\"\n", "believed"),
        ("[[upstream]]\nname = \"a\"\nservers = [\"http://h\"]\nhealth = {}\n", "path` is missing"),
        ("[[upstream]]\nname = \"a\"\nservers = [\"http://h\"]\nballance = \"x\"\n", "`balance`?"),
        (APP, "no route goes to the upstream `app`"),
        ("[[route]]\nupstream = \"ap\"\n", "`ap` is no upstream"),
        ("[[route]]\nupstream = \"app\"\nstrip_prefix = \"/a/\"\n", "no path begins"),
        ("[[route]]\nupstream = \"app\"\nwhen = { plan = \"pro\" }\n", "cannot depend on a plan"),
        ("[[route]]\nupstream = \"app\"\ntimeout = \"soon\"\n", "a length of time"),
        ("[[route]]\nupstream = \"app\"\nupgrades = [\"h2c\"]\n", "a way around the limits"),
        ("[[route]]\nupstream = \"app\"\nrequest_headers = { set = { host = \"x\" } }\n", "`host`"),
        (
            "[[route]]\nupstream = \"app\"\nrequest_headers = { remove = [\"te\"] }\n",
            "`te` is about",
        ),
        (
            "[[route]]\nupstream = \"app\"\nrequest_headers = { set = { x-forwarded-for = \"1\" } }\n",
            "who is asking",
        ),
        (
            "[[route]]\nupstream = \"app\"\nresponse_headers = { set = { x = \"a\\nb\" } }\n",
            "no header can have this value",
        ),
    ];
    for (text, why) in cases {
        let needs_app = text.contains("upstream = \"app\"") || text.contains("upstream = \"ap\"");
        let text = format!("{text}{}", if needs_app { APP } else { "" });
        let file = Scratch::new("routes.toml", &text);
        let output = program::run(&["check", file.path()]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(why), "`{why}` is missing in\n{told}");
    }
}
