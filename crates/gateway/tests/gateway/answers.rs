//! Answers whose length is said strangely: a client reads each as we did, or gets none of it.

use crate::client::Client;
use crate::program::Program;
use crate::upstream::Upstream;

const LAST: &str = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/// All that a client gets for one request, and for another one behind it.
fn answered(method: &str, answer: &'static str) -> String {
    let upstream = Upstream::answering(answer);
    let gateway = Program::serve(&upstream.config());
    let mut client = Client::connect(gateway.address);
    client.send(format!("{method} /g HTTP/1.1\r\nHost: h\r\n\r\n{LAST}").as_bytes());
    String::from_utf8(client.rest()).unwrap()
}

fn lines(text: &str, name: &str) -> Vec<String> {
    let of_name = |line: &&str| line.starts_with(name);
    text.split("\r\n").filter(of_name).map(str::to_owned).collect()
}

#[test]
fn a_length_that_is_said_twice_in_the_same_way_is_passed_on_once() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 3 ,3\r\nContent-Length: 3\r\n\r\nabc",
    ] {
        let text = answered("GET", answer);
        assert_eq!(lines(&text, "content-length"), ["content-length: 3"; 2], "{answer}");
        assert_eq!(text.matches("abc").count(), 2, "{answer}");
    }
}

#[test]
fn an_answer_to_head_is_passed_on_however_often_it_says_its_length() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\n",
    ] {
        let upstream = Upstream::answering(answer);
        let gateway = Program::serve(&upstream.config());
        let mut client = Client::connect(gateway.address);
        client.send(b"HEAD /g HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        let head = client.head();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert_eq!(lines(&head, "content-length"), ["content-length: 3"], "{answer}");
    }
}

#[test]
fn a_length_that_is_none_or_said_in_two_ways_is_an_answer_of_nobody() {
    for length in ["3\r\nContent-Length: 4", "3, 4", "+3", "0x3", "3,", ",3", "-1", "", "3 3"] {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabcd");
        for method in ["GET", "HEAD"] {
            let text = answered(method, answer.clone().leak());
            assert!(text.starts_with("HTTP/1.1 502 "), "{method} {length}: {text}");
        }
    }
}

#[test]
fn an_answer_without_a_body_says_no_length() {
    let text = answered("HEAD", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(text.matches("HTTP/1.1 204 No Content\r\n").count(), 2, "{text}");
    assert_eq!(lines(&text, "content-length"), [""; 0]);
}
