//! Asking a server, again and again, whether it is well.

use std::sync::Weak;
use std::time::Duration;

use http::header::{HOST, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Request, StatusCode, Uri, Version};
use tokio::time::{sleep, timeout};

use super::dial::Line;
use super::health::{Streak, Verdict};
use super::server::Server;
use crate::body::ClientBody;

/// How a server is asked whether it is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checks {
    pub(crate) path: PathAndQuery,
    pub(crate) every: Duration,
    /// For a connection and the head of an answer.
    pub(crate) timeout: Duration,
    pub(crate) down_after: u32,
    pub(crate) up_after: u32,
}

/// Checks a server until it is dropped.
pub(crate) async fn watch(server: Weak<Server>, checks: Checks) {
    let mut streak = Streak::new(checks.down_after, checks.up_after);
    loop {
        let Some(server) = server.upgrade() else { return };
        let well = timeout(checks.timeout, is_well(&server, &checks.path)).await;
        let check = if well.unwrap_or(false) { Verdict::Up } else { Verdict::Down };
        server.health().checked(streak.add(check));
        drop(server);
        sleep(checks.every).await;
    }
}

/// Whether it answers with a status of success or a redirection, on a connection of its own: one
/// that was open before would not show that others can be opened.
async fn is_well(server: &Server, path: &PathAndQuery) -> bool {
    let dial = server.dial();
    let Ok(line) = dial.open().await else { return false };
    let mut request = Request::new(ClientBody::none());
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("tollgate-health"));
    let authority = dial.address.authority();
    let status = match line {
        Line::Http1(mut sender) => {
            let Ok(host) = HeaderValue::from_str(authority.as_str()) else { return false };
            request.headers_mut().insert(HOST, host);
            *request.uri_mut() = Uri::from(path.clone());
            sender.send_request(request).await.map(|answer| answer.status())
        }
        Line::Http2(mut sender) => {
            let uri = Uri::builder().scheme("http").authority(authority);
            let Ok(uri) = uri.path_and_query(path.clone()).build() else { return false };
            *request.uri_mut() = uri;
            *request.version_mut() = Version::HTTP_2;
            sender.send_request(request).await.map(|answer| answer.status())
        }
    };
    status.is_ok_and(|status: StatusCode| status.is_success() || status.is_redirection())
}
