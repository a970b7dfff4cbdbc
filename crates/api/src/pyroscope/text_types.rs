//! What a profile without types of its own measures: the last part of its application name, `app.alloc_space`, and for
//! speedscope files the unit that they state.
//!
//! The table is Pyroscope's, so that its dashboards go on working. Two of its oddities are mended for speedscope: a file
//! with several profiles keeps its application's name where that ends in no type, and bytes are never taken for time.

use formats::SpeedscopeUnit;

use crate::{
    ApiError,
    push::{NameRule, SpeedscopeProfile, SpeedscopeRule, TextType},
};

/// What the last part of an application's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Suffix {
    word: &'static str,
    name: &'static str,
    sample_type: &'static str,
    sample_unit: &'static str,
    /// The numbers count samples, which are stored as time.
    is_sampled: bool,
}

const fn sampled(word: &'static str, name: &'static str, sample_type: &'static str) -> Suffix {
    Suffix { word, name, sample_type, sample_unit: "nanoseconds", is_sampled: true }
}

const fn plain(
    word: &'static str,
    name: &'static str,
    sample_type: &'static str,
    sample_unit: &'static str,
) -> Suffix {
    Suffix { word, name, sample_type, sample_unit, is_sampled: false }
}

/// The first is that of names without a dot.
const SUFFIXES: [Suffix; 25] = [
    sampled("cpu", "process_cpu", "cpu"),
    sampled("itimer", "process_cpu", "cpu"),
    sampled("wall", "wall", "wall"),
    sampled("seconds", "wall", "wall"),
    sampled("milliseconds", "wall", "wall"),
    sampled("microseconds", "wall", "wall"),
    sampled("nanoseconds", "wall", "wall"),
    plain("inuse_objects", "memory", "inuse_objects", "count"),
    plain("alloc_objects", "memory", "alloc_objects", "count"),
    plain("inuse_space", "memory", "inuse_space", "bytes"),
    plain("alloc_space", "memory", "alloc_space", "bytes"),
    plain("goroutines", "goroutine", "goroutines", "count"),
    plain("mutex_count", "mutex", "contentions", "count"),
    plain("mutex_duration", "mutex", "delay", "nanoseconds"),
    plain("block_count", "block", "contentions", "count"),
    plain("block_duration", "block", "delay", "nanoseconds"),
    plain("lock_count", "block", "contentions", "count"),
    plain("lock_duration", "block", "delay", "nanoseconds"),
    plain("alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count"),
    plain("alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes"),
    plain("alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count"),
    plain("alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes"),
    plain("live", "memory", "live", "count"),
    plain("exceptions", "exceptions", "samples", "count"),
    plain("bytes", "memory", "samples", "bytes"),
];

impl Suffix {
    fn of(word: &str) -> Option<&'static Self> {
        SUFFIXES.iter().find(|suffix| suffix.word == word)
    }

    fn typed(&self, sample_rate: u32) -> TextType {
        match self.is_sampled {
            true => TextType::sampled(self.sample_type, sample_rate),
            false => TextType::plain(self.sample_type, self.sample_unit),
        }
    }
}

/// Service, profile name and type of a text profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextProfile {
    pub(super) service: String,
    pub(super) name: &'static str,
    pub(super) typed: TextType,
}

/// Reads the suffix; without a dot the profile is `cpu`.
///
/// # Errors
/// 400 for a suffix that names no type.
pub(super) fn text_profile(application: &str, sample_rate: u32) -> Result<TextProfile, ApiError> {
    let (service, word) = application.rsplit_once('.').unwrap_or((application, SUFFIXES[0].word));
    let Some(suffix) = Suffix::of(word) else {
        let position = application.len() - word.len();
        return Err(ApiError::invalid(
            "name",
            format!(
                "{:?} at byte {position} is no profile type; a text profile's name ends in .cpu, .wall, \
                 .alloc_space or the like",
                word.chars().take(64).collect::<String>()
            ),
        ));
    };
    if service.is_empty() {
        return Err(ApiError::invalid("name", "the application name is empty (byte 0)"));
    }
    Ok(TextProfile { service: service.to_owned(), name: suffix.name, typed: suffix.typed(sample_rate) })
}

/// The rule for speedscope files on `/ingest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpeedscopeByApplication {
    pub(super) application: String,
    /// The label that the application becomes.
    pub(super) label: &'static str,
    pub(super) sample_rate: u32,
    pub(super) duration_nanos: i64,
}

impl SpeedscopeRule for SpeedscopeByApplication {
    fn stored_as(&self, unit: SpeedscopeUnit, is_alone: bool) -> Result<SpeedscopeProfile, ApiError> {
        let said = self.application.rsplit_once('.');
        let said = said.and_then(|(service, word)| Some((service, Suffix::of(word)?)));
        let (service, suffix) = match said.filter(|(service, _)| !service.is_empty()) {
            Some((service, suffix)) => (service, suffix),
            None => (self.application.as_str(), default_of(unit, is_alone)),
        };
        let typed = match (unit, suffix) {
            (SpeedscopeUnit::None, suffix) => suffix.typed(self.sample_rate),
            (SpeedscopeUnit::Time { .. }, Suffix { is_sampled: true, sample_type, .. }) => {
                TextType::timed(sample_type, self.sample_rate)
            }
            (SpeedscopeUnit::Time { .. }, Suffix { sample_unit: "nanoseconds", .. })
            | (SpeedscopeUnit::Bytes, Suffix { sample_unit: "bytes", .. }) => suffix.typed(self.sample_rate),
            (unit, suffix) => {
                let message = format!(
                    "ends in .{}, which is counted in {}, but the file counts {}",
                    suffix.word,
                    suffix.sample_unit,
                    unit.word()
                );
                return Err(ApiError::invalid("name", message));
            }
        };
        Ok(SpeedscopeProfile {
            labels: vec![(self.label.to_owned(), service.to_owned())],
            name: NameRule::Given(suffix.name.into()),
            typed: typed.lasting(self.duration_nanos),
        })
    }
}

/// The type of a profile whose application names none.
fn default_of(unit: SpeedscopeUnit, is_alone: bool) -> &'static Suffix {
    let word = match unit {
        SpeedscopeUnit::Bytes => "bytes",
        // Pyroscope tells the profiles of such a file apart by their unit, which is a word of the table.
        SpeedscopeUnit::Time { word, .. } if !is_alone => word,
        SpeedscopeUnit::Time { .. } | SpeedscopeUnit::None => SUFFIXES[0].word,
    };
    Suffix::of(word).unwrap_or(&SUFFIXES[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_names_the_type() {
        // suffix, profile name, type and unit, what 3 at 100 Hz becomes
        let table = [
            ("cpu", "process_cpu", "cpu", "nanoseconds", 30_000_000),
            ("itimer", "process_cpu", "cpu", "nanoseconds", 30_000_000),
            ("wall", "wall", "wall", "nanoseconds", 30_000_000),
            ("inuse_objects", "memory", "inuse_objects", "count", 3),
            ("alloc_objects", "memory", "alloc_objects", "count", 3),
            ("inuse_space", "memory", "inuse_space", "bytes", 3),
            ("alloc_space", "memory", "alloc_space", "bytes", 3),
            ("goroutines", "goroutine", "goroutines", "count", 3),
            ("mutex_count", "mutex", "contentions", "count", 3),
            ("mutex_duration", "mutex", "delay", "nanoseconds", 3),
            ("block_count", "block", "contentions", "count", 3),
            ("block_duration", "block", "delay", "nanoseconds", 3),
            ("alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count", 3),
            ("alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes", 3),
            ("alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count", 3),
            ("alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes", 3),
            ("lock_count", "block", "contentions", "count", 3),
            ("lock_duration", "block", "delay", "nanoseconds", 3),
            ("live", "memory", "live", "count", 3),
            ("exceptions", "exceptions", "samples", "count", 3),
            ("seconds", "wall", "wall", "nanoseconds", 30_000_000),
            ("milliseconds", "wall", "wall", "nanoseconds", 30_000_000),
            ("microseconds", "wall", "wall", "nanoseconds", 30_000_000),
            ("nanoseconds", "wall", "wall", "nanoseconds", 30_000_000),
            ("bytes", "memory", "samples", "bytes", 3),
        ];
        assert_eq!(table.len(), SUFFIXES.len());
        let mut decoder = formats::Decoder::new();
        for (suffix, name, sample_type, sample_unit, value) in table {
            let profile = text_profile(&format!("team/a.b.{suffix}"), 100).unwrap();
            assert_eq!((profile.service.as_str(), profile.name), ("team/a.b", name), "{suffix}");
            let typed = &profile.typed;
            assert_eq!((typed.sample_type(), typed.sample_unit()), (sample_type, sample_unit), "{suffix}");
            let (decoded, _) = decoder.folded(b"f 3", typed.measure(), &formats::Limits::default()).unwrap();
            let columns = decoded.columns;
            assert_eq!(columns.values, [value], "{suffix}");
            let is_scaled = value != 3;
            assert_eq!(columns.header.period_type.is_some(), is_scaled, "{suffix}");
            assert_eq!(columns.header.period, if is_scaled { 10_000_000 } else { 0 }, "{suffix}");
        }
        let bare = text_profile("app", 100).unwrap();
        assert_eq!((bare.service.as_str(), bare.name), ("app", "process_cpu"));
    }

    #[test]
    fn c082_an_unknown_suffix_is_400_with_its_position() {
        let error = text_profile("team/app.v2", 100).unwrap_err();
        assert_eq!(error.status(), 400);
        assert!(error.message.contains("byte 9"), "{error}");
        assert_eq!(text_profile(".cpu", 100).unwrap_err().status(), 400);
    }

    #[test]
    fn speedscope_files_are_what_suffix_and_unit_say() {
        const TIME: SpeedscopeUnit = SpeedscopeUnit::Time { word: "seconds", exponent: 9 };
        let (none, bytes) = (SpeedscopeUnit::None, SpeedscopeUnit::Bytes);
        let stored = |application: &str, unit, is_alone| {
            let application = application.to_owned();
            let rule = SpeedscopeByApplication {
                application,
                label: "service_name",
                sample_rate: 100,
                duration_nanos: 7,
            };
            rule.stored_as(unit, is_alone)
        };
        let timed = |kind| TextType::timed(kind, 100);
        let sampled = |kind| TextType::sampled(kind, 100);
        let plain = TextType::plain;
        for (application, unit, is_alone, service, name, typed) in [
            ("app", TIME, true, "app", "process_cpu", timed("cpu")),
            ("app", TIME, false, "app", "wall", timed("wall")),
            ("app.v2", TIME, false, "app.v2", "wall", timed("wall")),
            ("app.v2", TIME, true, "app.v2", "process_cpu", timed("cpu")),
            ("app.wall", TIME, true, "app", "wall", timed("wall")),
            ("app.cpu", TIME, false, "app", "process_cpu", timed("cpu")),
            ("app.lock_duration", TIME, true, "app", "block", plain("delay", "nanoseconds")),
            ("app", none, true, "app", "process_cpu", sampled("cpu")),
            ("app", none, false, "app", "process_cpu", sampled("cpu")),
            ("app.exceptions", none, true, "app", "exceptions", plain("samples", "count")),
            ("app.alloc_space", none, true, "app", "memory", plain("alloc_space", "bytes")),
            ("app", bytes, true, "app", "memory", plain("samples", "bytes")),
            ("app.alloc_space", bytes, false, "app", "memory", plain("alloc_space", "bytes")),
        ] {
            let profile = stored(application, unit, is_alone).unwrap();
            let case = format!("{application} {unit:?} {is_alone}");
            assert_eq!(profile.labels, [("service_name".to_owned(), service.to_owned())], "{case}");
            assert_eq!(
                (profile.name, profile.typed),
                (NameRule::Given(name.into()), typed.lasting(7)),
                "{case}"
            );
        }
        for (application, unit) in [("app.alloc_space", TIME), ("app.cpu", bytes), ("app.goroutines", bytes)]
        {
            let error = stored(application, unit, true).unwrap_err();
            assert_eq!((error.status().as_u16(), error.field.as_str()), (400, "name"));
            assert!(error.message.contains(unit.word()), "{error}");
        }
    }
}
