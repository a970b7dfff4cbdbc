//! Merged answers: flame graph, tree bytes, DOT, pprof.

use buffa::{EnumValue, MessageField};
use bytes::Bytes;
use connectrpc::{CodecFormat, ConnectError, Encodable};
use query::{Control, Engine, GoPgo, NameMode, NodeLimit, Selection};
use rpc::{google, querier::v1::*};

use crate::{
    ApiError,
    pyroscope::flamebearer::{Flamebearer, tree_bytes},
};

/// Tag of `SelectMergeStacktracesResponse.pprof`, a message.
const PPROF_FIELD: u8 = 5 << 3 | 2;

/// Tag of `PprofProfile.profile`, a message.
const PROFILE_FIELD: u8 = 1 << 3 | 2;

/// What a merge is answered as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeFormat {
    FlameGraph,
    Tree,
    Dot,
    Pprof,
}

impl MergeFormat {
    pub(super) fn read(format: &EnumValue<ProfileFormat>) -> Result<Self, ApiError> {
        match format {
            EnumValue::Known(
                ProfileFormat::PROFILE_FORMAT_UNSPECIFIED | ProfileFormat::PROFILE_FORMAT_FLAMEGRAPH,
            ) => Ok(Self::FlameGraph),
            EnumValue::Known(ProfileFormat::PROFILE_FORMAT_TREE) => Ok(Self::Tree),
            EnumValue::Known(ProfileFormat::PROFILE_FORMAT_DOT) => Ok(Self::Dot),
            EnumValue::Known(ProfileFormat::PROFILE_FORMAT_PPROF) => Ok(Self::Pprof),
            EnumValue::Unknown(number) => Err(ApiError::invalid("format", format!("{number} is not known"))),
        }
    }
}

/// A merge that is asked for.
pub(super) struct MergeQuestion {
    pub(super) selection: Selection,
    pub(super) format: MergeFormat,
    pub(super) trim: Option<GoPgo>,
    pub(super) nodes_max: usize,
    /// Whether the number of nodes was the client's.
    pub(super) nodes_asked: bool,
}

/// A merged answer. A pprof body goes out as it is, without being read and written again.
pub(in crate::pyroscope) enum MergeAnswer {
    Message(SelectMergeStacktracesResponse),
    Pprof(Bytes),
}

/// Trimmed stacks are for Go's compiler, which reads pprof; a flame graph of them would be taken for the whole.
pub(super) fn only_for_pprof() -> ApiError {
    ApiError::invalid("stack_trace_selector.go_pgo", "applies to pprof; ask for that format")
}

impl MergeQuestion {
    pub(super) fn answer(&self, engine: &Engine, control: &Control) -> Result<MergeAnswer, ApiError> {
        if self.trim.is_some() && self.format != MergeFormat::Pprof {
            return Err(only_for_pprof());
        }
        let selection = &self.selection;
        let tree = || {
            let limit = NodeLimit::at_least(self.nodes_max);
            Ok::<_, ApiError>(engine.flame(selection, NameMode::Display, limit, control)?.data)
        };
        let message = match self.format {
            MergeFormat::Pprof => {
                let pprof = engine.pprof_trimmed(selection, self.trim, control)?.data;
                return Ok(MergeAnswer::Pprof(pprof.into()));
            }
            MergeFormat::FlameGraph => SelectMergeStacktracesResponse {
                flamegraph: MessageField::some(flame_graph(Flamebearer::new(tree()?))),
                ..Default::default()
            },
            MergeFormat::Tree => {
                SelectMergeStacktracesResponse { tree: tree_bytes(&tree()?)?.into(), ..Default::default() }
            }
            MergeFormat::Dot => {
                // The default number of nodes is one for flame graphs; a graph of so many shows nothing.
                let functions_max = if self.nodes_asked { self.nodes_max } else { 0 };
                let dot = engine.dot(selection, functions_max, control)?.data;
                SelectMergeStacktracesResponse { dot, ..Default::default() }
            }
        };
        Ok(MergeAnswer::Message(message))
    }
}

impl MergeAnswer {
    pub(super) fn into_message(self) -> Result<SelectMergeStacktracesResponse, ConnectError> {
        match self {
            Self::Message(message) => Ok(message),
            Self::Pprof(pprof) => {
                let profile = MessageField::some(decode_pprof(&pprof)?);
                let pprof = MessageField::some(PprofProfile { profile });
                Ok(SelectMergeStacktracesResponse { pprof, ..Default::default() })
            }
        }
    }
}

impl Encodable<SelectMergeStacktracesResponse> for MergeAnswer {
    fn encode(&self, codec: CodecFormat) -> Result<Bytes, ConnectError> {
        match (self, codec) {
            (Self::Message(message), codec) => message.encode(codec),
            (Self::Pprof(pprof), CodecFormat::Proto) => {
                let mut inner = vec![PROFILE_FIELD];
                varint(&mut inner, pprof.len() as u64);
                let mut bytes = Vec::with_capacity(pprof.len() + 24);
                bytes.push(PPROF_FIELD);
                varint(&mut bytes, (inner.len() + pprof.len()) as u64);
                bytes.extend_from_slice(&inner);
                bytes.extend_from_slice(pprof);
                Ok(bytes.into())
            }
            (Self::Pprof(pprof), codec) => Self::Pprof(pprof.clone()).into_message()?.encode(codec),
        }
    }
}

fn flame_graph(flame: Flamebearer) -> FlameGraph {
    FlameGraph {
        names: flame.names,
        levels: flame.levels.into_iter().map(|values| Level { values }).collect(),
        total: flame.total,
        max_self: flame.max_self,
    }
}

/// A pprof body as the reply of a call: bytes as they are for proto, a message only where JSON is asked for.
pub(in crate::pyroscope) struct EncodedPprof(pub(super) Bytes);

impl Encodable<google::v1::Profile> for EncodedPprof {
    fn encode(&self, codec: CodecFormat) -> Result<Bytes, ConnectError> {
        match codec {
            CodecFormat::Proto => Ok(self.0.clone()),
            codec => decode_pprof(&self.0)?.encode(codec),
        }
    }
}

/// Reads a body that we wrote ourselves, so the decoder's guard against small bodies with many elements is off.
fn decode_pprof(pprof: &[u8]) -> Result<google::v1::Profile, ConnectError> {
    let options = buffa::DecodeOptions::new().with_element_memory_limit(usize::MAX);
    options.decode_from_slice(pprof).map_err(|error| ConnectError::internal(error.to_string()))
}

/// Appends a number in groups of seven bits, the lowest first.
fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        bytes.push(value.to_le_bytes()[0] | 128);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}
