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
mod contract;
mod hash;
mod identity;
mod memory;
mod partition;

pub use contract::{
    Accepted, Attachment, NewAttachment, NewProfile, Outcome, PushError, Store, StoreError, StoreOptions,
    StoreState, StoreStats, Ticket, View,
};
pub use memory::MemoryDataset;
