//! Bytes of series and profiles, and of what rows may carry beside node and values.

use profile::{LabelSet, Link, ProfileId, SeriesType, Temporality, Timestamp, TypedColumn};

use crate::{
    ProfileMeta, Rows, Series,
    cursor::{Cursor, Malformed, put_bytes, put_signed, put_varint},
    footer::Counts,
    limits::COLUMNS_MAX,
};

const FLAG_LABELS: u8 = 1;
const FLAG_NEGATIVE: u8 = 2;
/// The id's milliseconds are not those of the profile's start and are kept in full.
const FLAG_OWN_MILLIS: u8 = 4;

/// Bytes of a profile in its section at least: eleven numbers, flags, digest.
const PROFILE_BYTES_MIN: usize = 21;

/// Bytes that a profile has in each of the row sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowLengths {
    pub rows: u32,
    pub labels: u32,
    pub links: u32,
    pub times: u32,
}

/// All profiles of a dataset.
#[derive(Debug, Default)]
pub(crate) struct ProfileTable {
    pub profiles: Vec<ProfileMeta>,
    pub lengths: Vec<RowLengths>,
}

pub(crate) fn put_series(series: &[Series], out: &mut Vec<u8>) {
    for one in series {
        put_varint(out, one.labels.len() as u64);
        for (name, value) in one.labels.iter() {
            put_bytes(out, name.as_bytes());
            put_bytes(out, value.as_bytes());
        }
        let series_type = &one.series_type;
        for text in [&series_type.name, &series_type.period_type, &series_type.period_unit] {
            put_bytes(out, text.as_bytes());
        }
        put_varint(out, series_type.columns.len() as u64);
        for column in &series_type.columns {
            put_bytes(out, column.sample_type.as_bytes());
            put_bytes(out, column.sample_unit.as_bytes());
        }
        out.push(match one.temporality {
            Temporality::Delta => 0,
            Temporality::Instant => 1,
            Temporality::Cumulative => 2,
        });
    }
}

pub(crate) fn read_series(bytes: &[u8], counts: &Counts) -> Result<Vec<Series>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut series = Vec::new();
    for _ in 0..counts.series {
        let pairs = (0..cursor.count(2)?).map(|_| Ok((cursor.text()?, cursor.text()?)));
        let pairs = pairs.collect::<Result<Vec<_>, Malformed>>()?;
        let labels =
            LabelSet::from_pairs(pairs).map_err(|_| Malformed("series has labels that cannot be"))?;
        let [name, period_type, period_unit] =
            [cursor.text()?.to_owned(), cursor.text()?.to_owned(), cursor.text()?.to_owned()];
        let count = cursor.count(2)?;
        if count > COLUMNS_MAX {
            return Err(Malformed("series has too many columns"));
        }
        let columns = (0..count).map(|_| {
            Ok(TypedColumn { sample_type: cursor.text()?.to_owned(), sample_unit: cursor.text()?.to_owned() })
        });
        let columns = columns.collect::<Result<_, Malformed>>()?;
        let temporality = match cursor.byte()? {
            0 => Temporality::Delta,
            1 => Temporality::Instant,
            2 => Temporality::Cumulative,
            _ => return Err(Malformed("series has an unknown temporality")),
        };
        let series_type = SeriesType { name, period_type, period_unit, columns };
        series.push(Series { labels, series_type, temporality });
    }
    cursor.finish()?;
    Ok(series)
}

impl ProfileTable {
    /// Column by column, so that zstd meets like beside like.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let profiles = &self.profiles;
        let mut last = 0;
        for profile in profiles {
            put_varint(out, u64::from(profile.series - last));
            last = profile.series;
        }
        let mut times = Times::default();
        profiles.iter().for_each(|profile| put_signed(out, times.step_of(profile.series, profile.time.0)));
        let mut last = 0;
        for profile in profiles {
            put_signed(out, profile.duration_nanos.wrapping_sub(last));
            last = profile.duration_nanos;
        }
        let mut last = 0;
        for profile in profiles {
            put_signed(out, profile.period.wrapping_sub(last));
            last = profile.period;
        }
        profiles.iter().for_each(|profile| put_varint(out, u64::from(profile.rows)));
        profiles.iter().for_each(|profile| put_varint(out, u64::from(profile.header)));
        profiles.iter().for_each(|profile| out.push(flags(profile)));
        for total in profiles.iter().flat_map(|profile| profile.totals.iter()) {
            put_signed(out, *total);
        }
        self.lengths.iter().for_each(|lengths| put_varint(out, u64::from(lengths.rows)));
        self.lengths.iter().for_each(|lengths| put_varint(out, u64::from(lengths.labels)));
        self.lengths.iter().for_each(|lengths| put_varint(out, u64::from(lengths.links)));
        self.lengths.iter().for_each(|lengths| put_varint(out, u64::from(lengths.times)));
        for profile in profiles.iter().filter(|profile| has_own_millis(profile)) {
            put_varint(out, profile.id.time_millis());
        }
        for profile in profiles {
            out.extend_from_slice(&profile.id.digest().to_le_bytes()[..10]);
        }
    }

    pub(crate) fn read(bytes: &[u8], counts: &Counts, series: &[Series]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let count = counts.profiles as usize;
        if count.checked_mul(PROFILE_BYTES_MIN).is_none_or(|needed| needed > bytes.len()) {
            return Err(Malformed("table is larger than its section"));
        }
        let mut profiles = Vec::with_capacity(count);
        let mut last = 0_u32;
        for _ in 0..count {
            let position = u64::from(last).checked_add(cursor.varint()?).ok_or(BEHIND)?;
            last = u32::try_from(position).ok().filter(|&position| position < counts.series).ok_or(BEHIND)?;
            profiles.push(empty_profile(last));
        }
        let mut times = Times::default();
        for profile in &mut profiles {
            profile.time = Timestamp(times.time_of(profile.series, cursor.signed()?));
        }
        let mut last = 0_i64;
        for profile in &mut profiles {
            last = last.wrapping_add(cursor.signed()?);
            profile.duration_nanos = last;
        }
        let mut last = 0_i64;
        for profile in &mut profiles {
            last = last.wrapping_add(cursor.signed()?);
            profile.period = last;
        }
        for profile in &mut profiles {
            profile.rows = cursor.varint_u32()?;
        }
        for profile in &mut profiles {
            profile.header = cursor.position(counts.headers)?;
        }
        let flags = cursor.take(count)?;
        for profile in &mut profiles {
            let columns = series.get(profile.series as usize).ok_or(BEHIND)?.series_type.columns.len();
            profile.totals = (0..columns).map(|_| cursor.signed()).collect::<Result<_, _>>()?;
        }
        let lengths = read_lengths(&mut cursor, count)?;
        read_ids(&mut cursor, &mut profiles, flags)?;
        cursor.finish()?;
        Ok(Self { profiles, lengths })
    }
}

const BEHIND: Malformed = Malformed("points behind its table");

fn empty_profile(series: u32) -> ProfileMeta {
    ProfileMeta {
        id: ProfileId(0),
        series,
        time: Timestamp(0),
        duration_nanos: 0,
        period: 0,
        rows: 0,
        header: 0,
        totals: Box::default(),
        has_labels: false,
        has_negative: false,
    }
}

fn read_lengths(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<RowLengths>, Malformed> {
    let mut lengths = vec![RowLengths::default(); count];
    for one in &mut lengths {
        one.rows = cursor.varint_u32()?;
    }
    for one in &mut lengths {
        one.labels = cursor.varint_u32()?;
    }
    for one in &mut lengths {
        one.links = cursor.varint_u32()?;
    }
    for one in &mut lengths {
        one.times = cursor.varint_u32()?;
    }
    Ok(lengths)
}

fn read_ids(cursor: &mut Cursor<'_>, profiles: &mut [ProfileMeta], flags: &[u8]) -> Result<(), Malformed> {
    let mut millis = Vec::with_capacity(profiles.len());
    for (profile, &flags) in profiles.iter_mut().zip(flags) {
        profile.has_labels = flags & FLAG_LABELS != 0;
        profile.has_negative = flags & FLAG_NEGATIVE != 0;
        let own = flags & FLAG_OWN_MILLIS != 0;
        millis.push(if own { cursor.varint()? } else { usual_millis(profile.time) });
    }
    for (profile, millis) in profiles.iter_mut().zip(millis) {
        let mut digest = [0; 16];
        digest[..10].copy_from_slice(&cursor.array::<10>()?);
        profile.id = ProfileId::new(millis, u128::from_le_bytes(digest));
    }
    Ok(())
}

/// The milliseconds that an id has by D2.
fn usual_millis(time: Timestamp) -> u64 {
    time.millis().cast_unsigned() & 0xffff_ffff_ffff
}

fn has_own_millis(profile: &ProfileMeta) -> bool {
    profile.id.time_millis() != usual_millis(profile.time)
}

fn flags(profile: &ProfileMeta) -> u8 {
    let mut flags = 0;
    for (is_set, flag) in [
        (profile.has_labels, FLAG_LABELS),
        (profile.has_negative, FLAG_NEGATIVE),
        (has_own_millis(profile), FLAG_OWN_MILLIS),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    flags
}

/// Times as the change of the distance between two profiles of a series, which a regular profiler keeps near 0.
#[derive(Default)]
struct Times {
    series: u32,
    time: i64,
    distance: i64,
}

impl Times {
    fn step_of(&mut self, series: u32, time: i64) -> i64 {
        let distance = time.wrapping_sub(self.time);
        let usual = if series == self.series { self.distance } else { 0 };
        *self = Self { series, time, distance };
        distance.wrapping_sub(usual)
    }

    fn time_of(&mut self, series: u32, step: i64) -> i64 {
        let usual = if series == self.series { self.distance } else { 0 };
        let distance = usual.wrapping_add(step);
        let time = self.time.wrapping_add(distance);
        *self = Self { series, time, distance };
        time
    }
}

pub(crate) fn put_row_labels(label_sets: &[u32], out: &mut Vec<u8>) {
    label_sets.iter().for_each(|&label_set| put_varint(out, u64::from(label_set)));
}

pub(crate) fn read_row_labels(bytes: &[u8], rows: &mut Rows, counts: &Counts) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(bytes);
    for _ in 0..rows.nodes.len() {
        rows.label_sets.push(cursor.position(counts.label_sets)?);
    }
    cursor.finish()
}

/// Distinct links, then which of them each row has; 0 is none.
pub(crate) fn put_row_links(links: &[Link], out: &mut Vec<u8>) {
    let mut distinct: Vec<Link> = links.iter().copied().filter(|link| *link != Link::default()).collect();
    let key = |link: &Link| (link.trace_id, link.span_id);
    distinct.sort_unstable_by_key(key);
    distinct.dedup();
    put_varint(out, distinct.len() as u64);
    for link in &distinct {
        out.extend_from_slice(&link.trace_id);
        out.extend_from_slice(&link.span_id);
    }
    for link in links {
        let position = distinct.binary_search_by_key(&key(link), key);
        put_varint(out, position.map_or(0, |position| position as u64 + 1));
    }
}

pub(crate) fn read_row_links(bytes: &[u8], rows: &mut Rows) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut distinct = vec![Link::default()];
    for _ in 0..cursor.count(24)? {
        distinct.push(Link { trace_id: cursor.array()?, span_id: cursor.array()? });
    }
    for _ in 0..rows.nodes.len() {
        let position = usize::try_from(cursor.varint()?).unwrap_or(usize::MAX);
        rows.links.push(*distinct.get(position).ok_or(BEHIND)?);
    }
    cursor.finish()
}

/// How many times each row has, then all times as distances.
pub(crate) fn put_row_times(times: &[u64], ends: &[u32], out: &mut Vec<u8>) {
    let mut start = 0;
    for &end in ends {
        put_varint(out, u64::from(end - start));
        start = end;
    }
    let mut last = 0_u64;
    for &time in times {
        put_signed(out, time.wrapping_sub(last).cast_signed());
        last = time;
    }
}

pub(crate) fn read_row_times(bytes: &[u8], rows: &mut Rows) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut end = 0_u32;
    for _ in 0..rows.nodes.len() {
        end = end.checked_add(cursor.varint_u32()?).ok_or(Malformed("too many times"))?;
        rows.timestamp_ends.push(end);
    }
    if end as usize > cursor.remaining() {
        return Err(Malformed("has fewer times than its rows say"));
    }
    let mut last = 0_u64;
    for _ in 0..end {
        last = last.wrapping_add(cursor.signed()?.cast_unsigned());
        rows.timestamps.push(last);
    }
    cursor.finish()
}
