//! Where the programs are.

use std::path::PathBuf;

/// Where `scripts/servers` puts what it fetches.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools");

/// The path of `program`: the environment's word (`variable`) first, then the project's own tools,
/// then the system's.
#[expect(
    clippy::disallowed_methods,
    reason = "only here, and only for tests, is a program looked for"
)]
pub(crate) fn find(program: &str, variable: &str) -> String {
    if let Ok(told) = std::env::var(variable) {
        return told;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(PathBuf::from(TOOLS)).chain(std::env::split_paths(&path));
    let found = folders.map(|folder| folder.join(program)).find(|path| path.is_file());
    match found.as_ref().and_then(|path| path.to_str()) {
        Some(path) => path.to_owned(),
        None => crate::give_up(&format!(
            "{program} is neither in target/tools nor in $PATH, and ${variable} names no other; \
             scripts/servers installs it"
        )),
    }
}
