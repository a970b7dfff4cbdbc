//! One log record: symbols not seen before, then a profile, a baseline or an attachment.
//!
//! ```text
//! version · partition · name? (tenant, service) · arrival ms · symbols · kind · entry
//! ```
//!
//! Here it is plain bytes; the log compresses it and adds length, checksum and number (`log::frame`). Replaying all
//! records of a generation in order builds the same tables as pushing did.

use block::{ProfileMeta, Rows};
use profile::{ProfileId, Tenant, Timestamp};

use super::{
    Baseline, HeadAttachment, HeadProfile, Partition, Writer,
    bytes::{Damaged, Reader, put_bytes, put_varint, zigzag_encode},
    rows,
    symbols::{self, Holes, Replay},
    tables::Lengths,
};

/// Version of the layout; a reader refuses others.
const VERSION: u8 = 1;
const KIND_PROFILE: u8 = 1;
const KIND_BASELINE: u8 = 2;
const KIND_ATTACHMENT: u8 = 3;
/// A profile's record ends with the baseline of its series.
const HAS_BASELINE: u8 = 1;
/// The profile's time was said by body or client (D2).
const TIME_IS_STATED: u8 = 2;

/// What a record is about.
pub(crate) enum Entry<'a> {
    /// A profile; for a cumulative source with the values as sent beside the difference (D8).
    Profile { meta: &'a ProfileMeta, rows: &'a [u8], baseline: Option<&'a [u8]>, time_is_stated: bool },
    /// A cumulative profile of which there is nothing to show yet.
    Baseline { id: ProfileId, series: u32, time: Timestamp, rows: &'a [u8] },
    /// An upload kept whole.
    Attachment(&'a HeadAttachment),
}

/// The front of a record: which partition it belongs to.
pub(crate) struct RecordHead {
    /// Number of the partition within its generation.
    pub(crate) partition: u32,
    /// Tenant and service; only in the partition's first record.
    pub(crate) name: Option<(Tenant, String)>,
    /// When it arrived, ms since the epoch.
    arrival_millis: u64,
    /// Where the symbols begin.
    offset: usize,
    /// The record's place in the log.
    sequence: u64,
}

impl RecordHead {
    /// When it arrived.
    pub(crate) fn arrival(&self) -> Timestamp {
        let millis = i64::try_from(self.arrival_millis).unwrap_or(i64::MAX);
        Timestamp::from_millis(millis).unwrap_or(Timestamp(i64::MAX))
    }
}

/// What replaying a record brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replayed {
    /// The entry is there again.
    Used {
        /// Its id.
        id: ProfileId,
        /// Whether its time was said by body or client.
        time_is_stated: bool,
    },
    /// The entry needs symbols of a record that was lost.
    NeedsLost,
}

/// Writes a record.
pub(super) fn encode(
    partition: &Partition,
    writer: &mut Writer,
    entry: &Entry<'_>,
    arrival: Timestamp,
    out: &mut Vec<u8>,
) {
    out.clear();
    out.push(VERSION);
    put_varint(out, u64::from(partition.number));
    out.push(u8::from(!writer.is_named));
    if !writer.is_named {
        put_bytes(out, partition.tenant.as_str().as_bytes());
        put_bytes(out, partition.service.as_bytes());
        writer.is_named = true;
    }
    put_varint(out, arrival.millis().max(0).cast_unsigned());
    let lengths = Lengths::of(&partition.tables);
    symbols::encode(&partition.tables, &writer.logged, &lengths, out);
    writer.logged = lengths;
    encode_entry(entry, out);
}

fn encode_entry(entry: &Entry<'_>, out: &mut Vec<u8>) {
    match entry {
        Entry::Profile { meta, rows, baseline, time_is_stated } => {
            out.push(KIND_PROFILE);
            out.extend_from_slice(&meta.id.0.to_le_bytes());
            put_varint(out, u64::from(meta.series));
            put_varint(out, u64::from(meta.header));
            for number in [meta.time.0, meta.duration_nanos, meta.period] {
                put_varint(out, zigzag_encode(number));
            }
            let stated = if *time_is_stated { TIME_IS_STATED } else { 0 };
            out.push(if baseline.is_some() { HAS_BASELINE } else { 0 } | stated);
            put_bytes(out, rows);
            if let Some(baseline) = baseline {
                put_bytes(out, baseline);
            }
        }
        Entry::Baseline { id, series, time, rows } => {
            out.push(KIND_BASELINE);
            out.extend_from_slice(&id.0.to_le_bytes());
            put_varint(out, u64::from(*series));
            put_varint(out, zigzag_encode(time.0));
            put_bytes(out, rows);
        }
        Entry::Attachment(attachment) => {
            out.push(KIND_ATTACHMENT);
            out.extend_from_slice(&attachment.id.0.to_le_bytes());
            put_varint(out, zigzag_encode(attachment.time.0));
            symbols::encode_labels(&attachment.labels, out);
            put_bytes(out, attachment.kind.as_bytes());
            put_bytes(out, &attachment.body);
        }
    }
}

/// Reads the front of a record that stands at a place in the log.
pub(crate) fn decode_head(sequence: u64, record: &[u8]) -> Result<RecordHead, Damaged> {
    let mut input = Reader::new(record);
    if input.byte()? != VERSION {
        return Err(Damaged("record version"));
    }
    let partition = input.word()?;
    let name = match input.byte()? {
        0 => None,
        1 => {
            let tenant = Tenant::parse(&symbols::text(&mut input)?).map_err(|_| Damaged("tenant"))?;
            Some((tenant, symbols::text(&mut input)?))
        }
        _ => return Err(Damaged("record name")),
    };
    let arrival_millis = input.varint()?;
    Ok(RecordHead { partition, name, arrival_millis, offset: record.len() - input.rest().len(), sequence })
}

/// Reads the rest of a record into its partition. Needs `blanks_left` to fill the places of lost symbols.
pub(super) fn replay(
    partition: &Partition,
    writer: &mut Writer,
    head: &RecordHead,
    record: &[u8],
    blanks_left: &mut u64,
) -> Result<Replayed, Damaged> {
    let mut input = Reader::new(record.get(head.offset..).unwrap_or_default());
    let text_before = partition.tables.text.len();
    Replay { tables: &partition.tables, holes: &mut writer.holes, blanks_left }.decode(&mut input)?;
    partition.count_text(text_before);
    match input.byte()? {
        KIND_PROFILE => replay_profile(partition, writer, head, &mut input),
        KIND_BASELINE => {
            let id = decode_id(&mut input)?;
            let (series, time) = (input.word()?, Timestamp(input.signed()?));
            let rows = input.bytes()?;
            let Some(_) = usable_rows(partition, &writer.holes, rows)? else {
                return Ok(Replayed::NeedsLost);
            };
            if !writer.holes.has_series(&partition.tables, series) {
                return Ok(Replayed::NeedsLost);
            }
            writer.known.insert(id, 0);
            writer.baselines.insert(series, Baseline { rows: rows.into(), time, arrival: head.arrival() });
            Ok(Replayed::Used { id, time_is_stated: true })
        }
        KIND_ATTACHMENT => {
            let id = decode_id(&mut input)?;
            let time = Timestamp(input.signed()?);
            let labels = symbols::decode_labels(&mut input)?;
            let kind = symbols::text(&mut input)?;
            let body = input.bytes()?.into();
            writer.known.insert(id, 0);
            partition.publish_attachment(HeadAttachment { id, labels, kind, time, body });
            Ok(Replayed::Used { id, time_is_stated: true })
        }
        _ => Err(Damaged("entry kind")),
    }
}

fn decode_id(input: &mut Reader<'_>) -> Result<ProfileId, Damaged> {
    input.chunk::<16>().map(|bytes| ProfileId(u128::from_le_bytes(*bytes)))
}

fn replay_profile(
    partition: &Partition,
    writer: &mut Writer,
    head: &RecordHead,
    input: &mut Reader<'_>,
) -> Result<Replayed, Damaged> {
    let tables = &partition.tables;
    let id = decode_id(input)?;
    let (series, header) = (input.word()?, input.word()?);
    let [time, duration_nanos, period] = [input.signed()?, input.signed()?, input.signed()?];
    let flags = input.byte()?;
    let bytes = input.bytes()?;
    let baseline = if flags & HAS_BASELINE == 0 { None } else { Some(input.bytes()?) };
    let time = Timestamp(time);
    if writer.known.contains_key(&id) {
        // Pushing recognises a retry, so this is a frame that a disk has written twice.
        return Err(Damaged("profile that is there already"));
    }
    if !writer.holes.has_profile(tables, series, header) {
        return Ok(Replayed::NeedsLost);
    }
    let width = tables.series.get(series).map_or(0, |series| series.series_type.columns.len());
    let Some(rows) = usable_rows(partition, &writer.holes, bytes)? else { return Ok(Replayed::NeedsLost) };
    if rows.values.len() != rows.nodes.len() * width {
        return Err(Damaged("column count"));
    }
    let mut totals = vec![0i64; width].into_boxed_slice();
    if width > 0 {
        for row in rows.values.chunks_exact(width) {
            totals.iter_mut().zip(row).for_each(|(total, value)| *total = total.wrapping_add(*value));
        }
    }
    let meta = ProfileMeta {
        id,
        series,
        time,
        duration_nanos,
        period,
        rows: u32::try_from(rows.nodes.len()).map_err(|_| Damaged("row count"))?,
        header,
        totals,
        has_labels: !rows.label_sets.is_empty(),
        has_negative: rows.values.iter().any(|&value| value < 0),
    };
    writer.known.insert(id, 0);
    if let Some(baseline) = baseline {
        // Its rows are those of the profile as sent; the difference was made from them.
        match usable_rows(partition, &writer.holes, baseline)? {
            Some(_) => {
                let arrival = head.arrival();
                drop(writer.baselines.insert(series, Baseline { rows: baseline.into(), time, arrival }))
            }
            None => drop(writer.baselines.remove(&series)),
        }
    }
    partition.publish_profile(HeadProfile { meta, rows: bytes.into(), sequence: head.sequence });
    Ok(Replayed::Used { id, time_is_stated: flags & TIME_IS_STATED != 0 })
}

/// Decodes rows; `None` where one of them needs a lost symbol.
fn usable_rows(partition: &Partition, holes: &Holes, bytes: &[u8]) -> Result<Option<Rows>, Damaged> {
    let mut rows = Rows::default();
    rows::decode(bytes, &mut rows)?;
    let tables = &partition.tables;
    let usable = rows.nodes.iter().all(|&node| holes.has_node(tables, node))
        && rows.label_sets.iter().all(|&set| holes.has_label_set(tables, set));
    Ok(usable.then_some(rows))
}
