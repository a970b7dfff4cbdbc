//! The native API's JSON, shared by `api` (which writes it) and `client` (which reads it).
//!
//! Numbers are JSON numbers: values and sums are signed 64-bit whole numbers in the profile's own unit (D5). Times are
//! RFC 3339 texts with up to nine fractional digits, because ns since the epoch do not fit in the 53 bits that
//! JavaScript keeps of a number. Readers must ignore members that they do not know. Every answer has `stats`.
//!
//! Not here: any behaviour. The same types are described for other languages in `docs/openapi.json`.

mod error;
mod explain;
mod graph;
mod listing;
mod push;
mod stats;
mod targets;

pub use error::ErrorReply;
pub use explain::{ClientItem, ExplainItem, ExplainReply};
pub use graph::{
    CallersReply, DiffReply, FlameReply, FunctionRow, FunctionSide, TimelineGroup, TimelineReply,
    TimelineSeries, TopReply,
};
pub use listing::{
    AttachmentItem, CardinalityReply, LabelCardinality, LabelNamesReply, LabelValuesReply, ProfileItem,
    ProfileReply, ProfilesReply, SeriesItem, SeriesReply, ServiceItem, ServicesReply, ValueCount,
};
pub use push::{PushOutcome, PushReply, PushedProfile};
pub use stats::Stats;
pub use targets::{DiscoveryItem, JobItem, TargetItem, TargetsReply, UnusedTargetItem};
