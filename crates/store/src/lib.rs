//! Where profiles are kept: interning, log, head, blocks, catalogue, retention.
//!
//! A push goes: [`Store::push`] interns the profile into its partition and hands a record to the log; the caller then
//! waits on the [`Ticket`] until the record is on disk, and only then acknowledges. A query takes a [`View`]: the
//! blocks and heads of a tenant at one instant, never half of a flush.
//!
//! Not here: wire formats (`formats`), selectors and trees (`query`), HTTP (`api`).

pub mod catalogue;
pub mod disk;
pub mod lock;
pub mod object;
pub mod retention;

mod append;
mod blocks;
mod documents;
mod error;
mod flush;
mod fuzz;
mod generation;
mod hash;
mod identity;
mod kept;
mod limits;
mod log;
mod maintenance;
mod memory;
mod options;
mod partition;
mod push;
mod pushed;
mod recent;
mod recover;
mod store;
mod tally;
mod view;

pub use documents::{DocumentChange, DocumentEntry, DocumentKey, DocumentKind, Documents};
pub use error::StoreError;
pub use fuzz::{ReplayedLog, catalogue_file_of, log_of, log_records, open_catalogue, replay_log};
pub use kept::Kept;
pub use memory::MemoryDataset;
pub use options::{StoreOptions, StoreState, StoreStats};
pub use pushed::{Accepted, Attachment, NewAttachment, NewProfile, Outcome, PushError, Ticket};
pub use recover::RecoveryReport;
pub use store::Store;
pub use tally::{Counted, Place, Tally};
pub use view::View;
