//! The file of a Unix socket: taken over from the dead, never from the living, and removed at the end.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// How long whoever listens there may take to take a connection.
const ANSWER: Duration = Duration::from_secs(1);

/// A socket's file, removed when dropped, if it is still this one.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    id: (u64, u64),
}

impl SocketFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = |file: &Metadata| id(file) == self.id;
        if fs::symlink_metadata(&self.path).as_ref().is_ok_and(ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on a file. One that another process has left behind is replaced.
///
/// # Errors
/// When somebody listens there, the file is no socket, or the folder cannot be written to.
pub(super) async fn listen(
    path: &Path,
    mode: Option<u32>,
) -> io::Result<(UnixListener, SocketFile)> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            remove_dead(path).await?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    let file = SocketFile { path: path.to_owned(), id: id(&fs::symlink_metadata(path)?) };
    if let Some(mode) = mode {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok((listener, file))
}

async fn remove_dead(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "there is a file that is no socket"));
    }
    match timeout(ANSWER, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(io::Error::new(ErrorKind::AddrInUse, "another process listens there")),
    }
}

fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
