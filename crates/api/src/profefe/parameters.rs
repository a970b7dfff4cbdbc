//! profefe's parameters: `service`, `type`, `labels`, `from`, `to`, `created_at`, `limit`.

use profile::{TimeRange, Timestamp};
use query::{Aggregation, Selection, Selector};

use super::{ProfefeError, bad_request};
use crate::{
    ApiError, ApiState, access,
    native::parameters::{Parameters, cut},
    profile_words::{PROFEFE_WORDS, ProfileWord, TRACE, find},
};

/// What `type` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A kind of profile.
    Profile(ProfileWord),
    /// Execution traces.
    Trace,
}

/// Reads `type`; `None` = not there, or a word that profefe does not know.
pub(super) fn kind(parameters: &Parameters) -> Option<Kind> {
    match parameters.first("type")? {
        TRACE => Some(Kind::Trace),
        word => find(&PROFEFE_WORDS, word).map(Kind::Profile),
    }
}

/// Reads `service`, which must be there.
pub(super) fn service(parameters: &Parameters) -> Result<&str, ProfefeError> {
    required(parameters, "service")
}

fn required<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, ProfefeError> {
    match parameters.first(name) {
        None | Some("") => Err(bad_request(format!("missing {name:?}"))),
        Some(value) => Ok(value),
    }
}

/// Reads `labels`: `k=v,k2=v2`, each piece encoded once more and trimmed; pieces without a key are skipped.
pub(super) fn labels(parameters: &Parameters) -> Result<Vec<(String, String)>, ProfefeError> {
    let mut pairs = Vec::new();
    for piece in parameters.first("labels").unwrap_or("").split(',') {
        let (key, value) = piece.split_once('=').unwrap_or((piece, ""));
        let key = decoded(key.trim())?;
        let value = decoded(value.trim())?;
        if !key.trim().is_empty() {
            pairs.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    pairs.sort();
    Ok(pairs)
}

/// Undoes percent encoding; a plus sign is a space.
fn decoded(text: &str) -> Result<String, ProfefeError> {
    let wrong = || bad_request(format!("labels: invalid escape in {:?}", cut(text)));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |position: usize| {
                    tail.get(position).and_then(|&byte| char::from(byte).to_digit(16)).ok_or_else(wrong)
                };
                let value = digit(0)? * 16 + digit(1)?;
                bytes.push(u8::try_from(value).map_err(|_| wrong())?);
                rest = &tail[2..];
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// Reads a time of the layout `2006-01-02T15:04:05`, which has no zone and means UTC. One with a zone is taken too.
pub(super) fn time(name: &str, text: &str) -> Result<Timestamp, ProfefeError> {
    let wrong = || bad_request(format!("{name}: {:?} is not of the form 2006-01-02T15:04:05", cut(text)));
    // One with a zone also reads as a date and time without one, so that reading comes second.
    let parsed = match text.parse::<jiff::Timestamp>() {
        Ok(zoned) => zoned,
        Err(_) if text.contains('T') => text
            .parse::<jiff::civil::DateTime>()
            .and_then(|local| jiff::tz::TimeZone::UTC.to_timestamp(local))
            .map_err(|_| wrong())?,
        Err(_) => return Err(wrong()),
    };
    i64::try_from(parsed.as_nanosecond()).map(Timestamp).map_err(|_| wrong())
}

/// Reads `from` and `to`, both of which must be there. The unit of this API is the second, so `to` includes all of its
/// second.
pub(super) fn range(parameters: &Parameters) -> Result<TimeRange, ProfefeError> {
    let from = time("from", required(parameters, "from")?)?;
    let to = time("to", required(parameters, "to")?)?;
    if from > to {
        return Err(bad_request("\"from\" is after \"to\""));
    }
    Ok(TimeRange { from, to: Timestamp(to.0.saturating_add(1_000_000_000)) })
}

/// Reads `limit`; 0 or nothing = none.
pub(super) fn limit(parameters: &Parameters) -> Result<Option<usize>, ProfefeError> {
    let count = parameters.count("limit")?;
    Ok(count.filter(|&count| count > 0).map(|count| usize::try_from(count).unwrap_or(usize::MAX)))
}

/// Everything that the tenants have.
pub(super) fn everything(state: &ApiState, parameters: &Parameters) -> Result<Selection, ApiError> {
    Ok(Selection {
        tenants: access::read_tenants(&parameters.headers, state.options.tenancy)?,
        aggregation: Aggregation::Sum,
        ..Selection::default()
    })
}

/// The profiles of a list or merge: service, labels and range; the kind is added by [`of_kind`].
pub(super) fn selection(state: &ApiState, parameters: &Parameters) -> Result<Selection, ProfefeError> {
    let service = service(parameters)?;
    let mut selection = everything(state, parameters)?;
    selection.range = range(parameters)?;
    selection.selector = selection.selector.with_equal(profile::SERVICE_NAME, service);
    for (key, value) in labels(parameters)? {
        selection.selector = selection.selector.with_equal(&key, &value);
    }
    Ok(selection)
}

/// Restricts a selection to the profiles of a word.
pub(super) fn of_kind(mut selection: Selection, word: ProfileWord) -> Result<Selection, ApiError> {
    selection.selector =
        selection.selector.and(Selector::parse(&format!("{{__name__=~\"{}\"}}", word.names))?);
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_without_a_zone_are_utc() {
        let read = |text| time("from", text).map(|time| time.0 / 1_000_000).map_err(|_| ());
        assert_eq!(read("2027-01-15T08:00:00"), Ok(1_800_000_000_000));
        assert_eq!(read("2027-01-15T08:00:00.5"), Ok(1_800_000_000_500));
        assert_eq!(read("2027-01-15T08:00:00Z"), Ok(1_800_000_000_000));
        assert_eq!(read("2027-01-15T09:00:00+01:00"), Ok(1_800_000_000_000));
        for bad in ["", "now", "1800000000", "2027-13-15T08:00:00", "08:00:00"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn labels_are_encoded_twice_and_trimmed() {
        let read = |text| labels(&Parameters::of(&[("labels", text)]));
        let pairs = read(" b=2 , a=x%2Cy+z,=skipped,,c").unwrap();
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "x,y z"), ("b", "2"), ("c", "")]);
        for bad in ["a=%", "a=%zz", "a=%ff", "a=%2"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn c085_ranges_are_required_and_never_inverted() {
        let read = |from, to| range(&Parameters::of(&[("from", from), ("to", to)]));
        let ok = read("2027-01-15T08:00:00", "2027-01-15T08:00:00").unwrap();
        assert_eq!(ok.to.0 - ok.from.0, 1_000_000_000);
        assert!(read("2027-01-15T08:00:01", "2027-01-15T08:00:00").is_err());
        assert!(read("", "2027-01-15T08:00:00").is_err());
    }
}
