//! What a profile *is*: the model that every format decodes into and every encoder reads from.
//!
//! A [`Profile`] is a set of flat columns ([`Columns`]) over one text buffer. Strings are ranges of that text, frames,
//! stacks and samples are indices into tables, so decoding a format allocates nothing per sample and a decoder can
//! reuse its columns for the next body. The model holds everything that pprof, OTLP and JFR carry: several value
//! columns, inlined lines, sample labels, span and trace ids, per-sample timestamps.
//!
//! Who calls this: decoders in `formats` fill it, `store` interns it, `cli` and `query` read it.
//!
//! Not here: bytes of any wire format (`formats`), tenants and storage (`store`), HTTP (`api`), display names (`names`).

mod columns;
mod id;
mod labels;
mod profile_type;
mod tenant;
mod time;

pub use columns::{
    Altered, AlteredReason, Columns, Function, FunctionIndex, Header, LabelValue, Line, Link, Location,
    LocationIndex, Mapping, MappingFlags, MappingIndex, Profile, SampleLabel, SampleView, StringIndex,
    StringRange, ValueType,
};
pub use id::{ParseProfileIdError, ProfileId};
pub use labels::{LabelError, LabelSet, SERVICE_NAME};
pub use profile_type::{ParseProfileTypeError, ProfileType, SeriesType, Temporality, TypedColumn};
pub use tenant::{Tenant, TenantError};
pub use time::{TimeRange, Timestamp};
