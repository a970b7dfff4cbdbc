//! Small files that are read whole: configurations, targets, secrets, certificates.

use std::{fs::File, io::Read, path::Path};

/// Reads a text of at most `bytes_max` bytes.
///
/// # Errors
/// In words, without the path.
pub(crate) fn read_text(path: &Path, bytes_max: usize) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err("is a folder".to_owned());
    }
    let mut text = String::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    file.take(limit.saturating_add(1)).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() > bytes_max { Err(format!("is larger than {bytes_max} bytes")) } else { Ok(text) }
}

/// Like [`read_text`] for what is looked at again and again, of a folder that others write in: a pipe, which would be waited
/// for without end, or a device, which has none, is refused unopened.
///
/// # Errors
/// In words, without the path.
pub(crate) fn read_regular(path: &Path, bytes_max: usize) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Err("is no regular file".to_owned());
    }
    read_text(path, bytes_max)
}

/// Works with files where that does not hold up sockets.
pub(crate) async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(job).await.unwrap_or_else(|error| Err(error.to_string()))
}
