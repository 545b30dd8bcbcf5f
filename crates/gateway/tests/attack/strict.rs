//! Requests as the strictest reader of HTTP/1 finds them, written from RFC 9112 alone.
//!
//! It stops where anything could be read in two ways. Whatever the gateway answers with success has to
//! be among what this reader finds, in order: otherwise somebody in the chain reads another request.

/// One request of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) body: Vec<u8>,
}

/// The requests that a stream begins with.
pub(crate) fn read(mut stream: &[u8]) -> Vec<Request> {
    let mut requests = Vec::new();
    while let Some((request, rest)) = one(stream) {
        requests.push(request);
        stream = rest;
    }
    requests
}

fn one(mut stream: &[u8]) -> Option<(Request, &[u8])> {
    // RFC 9112, 2.2: an empty line before a request means nothing.
    while let Some(rest) = stream.strip_prefix(b"\r\n") {
        stream = rest;
    }
    let (first, mut stream) = line(stream)?;
    let mut words = first.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !is_token(method) || target.is_empty() {
        return None;
    }
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    let (mut length, mut chunked) = (None, false);
    loop {
        let (header, rest) = line(stream)?;
        stream = rest;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        if !is_token(name) {
            return None;
        }
        let value = value.trim_matches([' ', '\t']);
        if name.eq_ignore_ascii_case("content-length") {
            if length.is_some() || value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            length = Some(value.parse::<usize>().ok()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            if chunked || version == "HTTP/1.0" || !value.eq_ignore_ascii_case("chunked") {
                return None;
            }
            chunked = true;
        }
    }
    let (body, rest) = match (length, chunked) {
        (Some(_), true) => return None,
        (None, true) => chunks(stream)?,
        (length, false) => {
            let (body, rest) = stream.split_at_checked(length.unwrap_or(0))?;
            (body.to_vec(), rest)
        }
    };
    Some((Request { method: method.to_owned(), target: target.to_owned(), body }, rest))
}

/// A line of visible text that ends as it should.
fn line(stream: &[u8]) -> Option<(String, &[u8])> {
    let end = stream.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
    let rest = stream[end..].strip_prefix(b"\r\n")?;
    let line = &stream[..end];
    let visible = line.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f));
    // What is beyond ASCII is one character a byte: it has no meaning here (obs-text).
    visible.then(|| (line.iter().copied().map(char::from).collect(), rest))
}

fn is_token(word: &str) -> bool {
    const MARKS: &[u8] = b"!#$%&'*+-.^_`|~";
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || MARKS.contains(&b))
}

fn chunks(mut stream: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let (size, rest) = line(stream)?;
        // An extension changes nothing; what is before it has to be a plain number.
        let size = size.split_once(';').map_or(size.as_str(), |(size, _)| size);
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            stream = rest;
            break;
        }
        let (data, rest) = rest.split_at_checked(size)?;
        body.extend_from_slice(data);
        stream = rest.strip_prefix(b"\r\n")?;
    }
    loop {
        let (trailer, rest) = line(stream)?;
        stream = rest;
        if trailer.is_empty() {
            return Some((body, stream));
        }
        if !is_token(trailer.split_once(':')?.0) {
            return None;
        }
    }
}
