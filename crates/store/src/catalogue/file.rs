//! Bytes of a catalogue file: one header line with kind, version and checksum, then JSON.
//!
//! ```text
//! everflame-catalogue 1 edit 5b1f0c3de2a49877
//! {"added":[…],"removed":[…],"generations_done":[7]}
//! ```

use block::BlockError;
use object_store::path::Path;
use serde::{Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64;

use crate::StoreError;

/// Folder of the catalogue within the data folder.
pub(crate) const CATALOGUE_FOLDER: &str = "catalogue";

/// First word of every catalogue file.
const MAGIC: &str = "everflame-catalogue";

/// Version of the format that is written; older ones are read for ever, newer ones refused.
const VERSION: u32 = 1;

/// Digits of a file's number: as many as the largest one has, so that names sort as numbers do.
const DIGITS: usize = 20;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    /// One change.
    Edit,
    /// Everything up to and with the edit of the same number.
    Checkpoint,
}

impl FileKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// Name of a catalogue file; sorts by number, an edit before the checkpoint of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileName {
    pub sequence: u64,
    pub kind: FileKind,
}

impl FileName {
    pub(super) fn path(self) -> Path {
        Path::from_iter([CATALOGUE_FOLDER, &format!("{:0DIGITS$}.{}", self.sequence, self.kind.word())])
    }

    pub(super) fn parse(path: &Path) -> Option<Self> {
        let (number, word) = path.filename()?.split_once('.')?;
        let kind = [FileKind::Edit, FileKind::Checkpoint].into_iter().find(|kind| kind.word() == word)?;
        if number.len() != DIGITS {
            return None;
        }
        Some(Self { sequence: number.parse().ok()?, kind })
    }
}

/// The bytes of a file.
pub(super) fn encode<T: Serialize>(kind: FileKind, content: &T) -> Result<Vec<u8>, StoreError> {
    let json = serde_json::to_vec(content)
        .map_err(|error| StoreError::Io { what: "catalogue".into(), reason: error.to_string() })?;
    let mut bytes = format!("{MAGIC} {VERSION} {} {:016x}\n", kind.word(), xxh3_64(&json)).into_bytes();
    bytes.extend_from_slice(&json);
    Ok(bytes)
}

/// Reads what [`encode`] wrote.
pub(super) fn decode<T: DeserializeOwned>(name: FileName, bytes: &[u8]) -> Result<T, BlockError> {
    let wrong = |reason: &str| corrupt(name, reason.into());
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(|| wrong("no header line"))?;
    let header = std::str::from_utf8(&bytes[..end]).map_err(|_| wrong("header line is no text"))?;
    let parts: Vec<&str> = header.split(' ').collect();
    let [MAGIC, version, kind, checksum] = parts[..] else {
        return Err(wrong("header line is of no known form"));
    };
    let version: u32 = version.parse().map_err(|_| wrong("version is no number"))?;
    if version == 0 {
        return Err(wrong("version is 0"));
    }
    if version > VERSION {
        return Err(BlockError::Version { file: name.path().to_string(), version, supported: VERSION });
    }
    if kind != name.kind.word() {
        return Err(wrong("header line and name differ in kind"));
    }
    let json = &bytes[end + 1..];
    if u64::from_str_radix(checksum, 16) != Ok(xxh3_64(json)) {
        return Err(wrong("checksum does not match"));
    }
    serde_json::from_slice(json).map_err(|error| corrupt(name, error.to_string()))
}

pub(super) fn corrupt(name: FileName, reason: String) -> BlockError {
    let way_out = "; put the file back from a copy of the data folder. Do not start without it: blocks that it alone \
                   names would be removed as garbage";
    BlockError::Corrupt {
        file: name.path().to_string(),
        section: name.kind.word().into(),
        reason: reason + way_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_numbers_and_others_are_refused() {
        let name = FileName { sequence: 258, kind: FileKind::Edit };
        assert_eq!(name.path().to_string(), "catalogue/00000000000000000258.edit");
        assert_eq!(FileName::parse(&name.path()), Some(name));
        for other in
            ["catalogue/258.edit", "catalogue/00000000000000000258", "catalogue/00000000000000000258.tmp"]
        {
            assert_eq!(FileName::parse(&Path::from(other)), None, "{other}");
        }
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_noticed() {
        let name = FileName { sequence: 1, kind: FileKind::Edit };
        let bytes = encode(name.kind, &vec![1, 2, 3]).unwrap();
        assert_eq!(decode::<Vec<u32>>(name, &bytes).unwrap(), [1, 2, 3]);
        for length in 0..bytes.len() {
            assert!(decode::<Vec<u32>>(name, &bytes[..length]).is_err(), "cut at {length}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // A flipped case of a hexadecimal digit is the same checksum.
            if damaged.to_ascii_lowercase() == bytes {
                continue;
            }
            assert!(decode::<Vec<u32>>(name, &damaged).is_err(), "bit {bit}");
        }
    }
}
