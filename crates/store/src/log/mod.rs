//! The log: what makes a push durable before it is acknowledged.
//!
//! One file per generation, `log/NUMBER.log`: a header, then frames, each with one record. Pushes put records into a
//! queue and go on; one thread takes all that wait, appends them with one write and one `fdatasync`, and says how far
//! the log is on disk ([`Log::durable`]). A push alone is synced at once; under load many share a sync.
//!
//! This crate's one place that decides durability is [`committer`]: nothing is told to be durable unless `sync_data`
//! of its file, and of the folder for a new file, came back without error.
//!
//! Not here: what a record says (`partition::record`), which generations are to be read (`recover`).

mod committer;
mod frame;
mod reader;

pub(crate) use self::{
    committer::{DurableNow, Log},
    frame::{Marker, file_of},
    reader::{LogDamage, LogFile, LogItem, check_name, read_log},
};

/// Folder of log files within the data folder.
pub(crate) const LOG_FOLDER: &str = "log";

/// Name of a generation's file.
pub(crate) fn file_name(generation: u64) -> String {
    format!("{LOG_FOLDER}/{generation:020}.log")
}

/// The generation of a file in the log folder; `None` for a name of another form.
pub(crate) fn generation_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_their_generation() {
        let name = file_name(7);
        assert_eq!(name, "log/00000000000000000007.log");
        assert_eq!(generation_of("00000000000000000007.log"), Some(7));
        for other in ["7.log", "00000000000000000007.tmp", "0000000000000000000x.log", ""] {
            assert_eq!(generation_of(other), None, "{other}");
        }
    }
}
