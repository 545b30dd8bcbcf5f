//! The upstream that answers when the file names none: it says what it saw.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};

use crate::body::{ClientBody, Whole, whole};
use crate::framing::Fault;

/// Answers with the method, the target, the headers and the length of the body as JSON.
///
/// # Errors
/// When the body is at fault.
pub(crate) async fn echo(request: Request<ClientBody>) -> Result<Response<Whole>, Fault> {
    let (parts, mut body) = request.into_parts();
    let upload = body.upload();
    let mut length = 0u64;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => {
                let data = frame.data_ref().map_or(0, bytes::Bytes::len);
                length = length.saturating_add(u64::try_from(data).unwrap_or(u64::MAX));
            }
            Err(_) => {
                let fault = upload.and_then(|upload| upload.fault());
                return Err(fault.unwrap_or(Fault::malformed("expected a body")));
            }
        }
    }
    let seen = json!({
        "method": parts.method.as_str(),
        "path": parts.uri.path_and_query().map(|target| target.as_str()),
        "headers": headers(&parts.headers),
        "body": length,
    });
    let mut response = Response::new(whole(format!("{seen:#}\n")));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Lines of one name as a list, as most servers show them.
fn headers(headers: &HeaderMap) -> Value {
    let mut seen = Map::new();
    for name in headers.keys() {
        let lines = headers.get_all(name).iter();
        let lines: Vec<_> = lines.map(|l| String::from_utf8_lossy(l.as_bytes())).collect();
        seen.insert(name.to_string(), lines.join(", ").into());
    }
    seen.into()
}
