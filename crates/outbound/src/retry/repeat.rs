//! Which calls may be made twice.

use http::Method;

/// Whether a call may be made twice: what it does then has to be what it does once.
///
/// Put it among the extensions of a request to say so of that request:
///
/// ```
/// use http::Request;
/// use tollgate_outbound::Repeat;
/// let order = Request::post("https://shop.example/orders")
///     .header("idempotency-key", "8e03978e")
///     .extension(Repeat::Safe)
///     .body(())?;
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// As its method has it: `GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT` and `DELETE` may (RFC 9110, 9.2.2).
    #[default]
    ByMethod,
    /// It may, such as a `POST` with a key that the server knows it again by.
    Safe,
    /// It may not, such as a `GET` with effects.
    Never,
}

impl Repeat {
    pub(crate) fn allows(self, method: &Method) -> bool {
        match self {
            Repeat::ByMethod => method.is_idempotent(),
            Repeat::Safe => true,
            Repeat::Never => false,
        }
    }
}
