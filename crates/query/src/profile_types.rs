//! Which profile type a question means: full types, short forms (D24), and what is taken when nothing was named.
//!
//! A short form is looked up among the types that the selection has, so `cpu` finds `process_cpu:cpu:nanoseconds:…` as
//! well as microseconds. Several fits are an error that lists them; no fit is an empty answer.

use profile::{ProfileType, SeriesType};

use crate::{QueryError, TypeSelector};

/// What a word stands for; empty parts fit everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortForm {
    /// The word.
    pub word: &'static str,
    /// Profile names, one of which must be there; none = any.
    pub names: &'static [&'static str],
    /// Sample types, one of which must be there.
    pub sample_types: &'static [&'static str],
    /// Class of the unit.
    pub unit: UnitClass,
}

/// Units that may stand for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitClass {
    /// Nanoseconds to hours.
    Time,
    /// Bytes and their multiples.
    Bytes,
    /// Everything that is counted.
    Count,
}

const fn form(
    word: &'static str,
    names: &'static [&'static str],
    sample_types: &'static [&'static str],
    unit: UnitClass,
) -> ShortForm {
    ShortForm { word, names, sample_types, unit }
}

/// Words with a meaning of their own: well-known short forms, Go's paths under `/debug/pprof`, profefe's types. Any other
/// word is taken as a sample type, as `name:sample_type`, or as a profile name with one column.
pub const SHORT_FORMS: &[ShortForm] = &[
    form("cpu", &[], &["cpu"], UnitClass::Time),
    form("profile", &[], &["cpu"], UnitClass::Time),
    form("wall", &[], &["wall"], UnitClass::Time),
    form("off_cpu", &[], &["off_cpu"], UnitClass::Time),
    form("heap", &[], &["inuse_space"], UnitClass::Bytes),
    form("inuse_space", &[], &["inuse_space"], UnitClass::Bytes),
    form("inuse_objects", &[], &["inuse_objects"], UnitClass::Count),
    form("allocs", &[], &["alloc_space"], UnitClass::Bytes),
    form("alloc_space", &[], &["alloc_space"], UnitClass::Bytes),
    form("alloc_objects", &[], &["alloc_objects"], UnitClass::Count),
    form("goroutine", &[], &["goroutine", "goroutines"], UnitClass::Count),
    form("goroutines", &[], &["goroutine", "goroutines"], UnitClass::Count),
    form("threadcreate", &[], &["threadcreate"], UnitClass::Count),
    form("mutex", &["mutex"], &["delay"], UnitClass::Time),
    form("block", &["block"], &["delay"], UnitClass::Time),
];

impl UnitClass {
    /// The class of a unit.
    #[must_use]
    pub fn of(unit: &str) -> Self {
        match unit.to_ascii_lowercase().as_str() {
            "nanoseconds" | "nanosecond" | "ns" | "microseconds" | "microsecond" | "us" | "µs"
            | "milliseconds" | "millisecond" | "ms" | "seconds" | "second" | "s" | "minutes" | "hours" => {
                Self::Time
            }
            "bytes" | "byte" | "b" | "kilobytes" | "kb" | "kib" | "megabytes" | "mb" | "mib"
            | "gigabytes" | "gb" | "gib" => Self::Bytes,
            _ => Self::Count,
        }
    }
}

impl ShortForm {
    fn fits(&self, candidate: &ProfileType) -> bool {
        (self.names.is_empty() || self.names.contains(&candidate.name.as_str()))
            && self.sample_types.contains(&candidate.sample_type.as_str())
            && UnitClass::of(&candidate.sample_unit) == self.unit
    }
}

/// What a question comes down to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// One type.
    Type(ProfileType),
    /// Nothing in the selection fits; a sentence that says what is there.
    Nothing(String),
}

/// Whether the caller needs one column or takes all columns of one profile name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Exactly one.
    One,
    /// All of one name; which one resolves does not matter then.
    AllOfName,
}

/// The types of the selection.
pub(crate) struct Candidates<'a> {
    /// Every column of every series, sorted, each once.
    pub types: &'a [ProfileType],
    /// The series types, each once.
    pub series_types: &'a [&'a SeriesType],
}

/// Resolves a question. `prefix` is the text before the selector's brace; `default_column` names the sample type that
/// the profile itself wants to be shown first.
pub(crate) fn resolve(
    asked: &TypeSelector,
    prefix: Option<&str>,
    candidates: &Candidates<'_>,
    columns: Columns,
    default_column: impl FnOnce() -> Result<Option<String>, QueryError>,
) -> Result<Resolved, QueryError> {
    let short = match asked {
        TypeSelector::Exact(exact) => return Ok(known(exact, candidates)),
        TypeSelector::Short(short) => Some(short.as_str()),
        TypeSelector::Default => prefix,
    };
    let Some(short) = short.map(str::trim).filter(|short| !short.is_empty()) else {
        return unnamed(candidates, columns, default_column);
    };
    if let Ok(exact) = ProfileType::parse(short) {
        return Ok(known(&exact, candidates));
    }
    let fits = short_form(short, candidates.types);
    match fits.as_slice() {
        [] => Ok(Resolved::Nothing(nothing(short, candidates.types))),
        [only] => Ok(Resolved::Type((*only).clone())),
        [first, ..] if columns == Columns::AllOfName && same_name(&fits) => {
            Ok(Resolved::Type((*first).clone()))
        }
        several => Err(QueryError::Ambiguous {
            short: short.into(),
            candidates: several.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// The types that a listing is restricted to; `None` = all. Several fits are no error there.
pub(crate) fn asked(
    asked: &TypeSelector,
    prefix: Option<&str>,
    types: &[ProfileType],
) -> Option<Vec<ProfileType>> {
    let short = match asked {
        TypeSelector::Exact(exact) => return Some(vec![exact.clone()]),
        TypeSelector::Short(short) => Some(short.as_str()),
        TypeSelector::Default => prefix,
    };
    let short = short.map(str::trim).filter(|short| !short.is_empty())?;
    Some(match ProfileType::parse(short) {
        Ok(exact) => vec![exact],
        Err(_) => short_form(short, types).into_iter().cloned().collect(),
    })
}

/// The column of a merged profile in which nothing was found: what was asked for, as far as that says so. pprof refuses a
/// profile without any column (C087).
pub(crate) fn type_of_nothing(asked: &TypeSelector, prefix: Option<&str>) -> ProfileType {
    let word = match asked {
        TypeSelector::Exact(exact) => return exact.clone(),
        TypeSelector::Short(short) => short.as_str(),
        TypeSelector::Default => prefix.unwrap_or_default(),
    };
    let word = word.trim();
    if let Ok(exact) = ProfileType::parse(word) {
        return exact;
    }
    let (sample_type, unit) = match SHORT_FORMS.iter().find(|known| known.word == word) {
        Some(ShortForm { sample_types: [first, ..], unit, .. }) => (*first, *unit),
        _ if word.is_empty() || word.contains(':') => ("samples", UnitClass::Count),
        _ => (word, UnitClass::Count),
    };
    let unit = match unit {
        UnitClass::Time => "nanoseconds",
        UnitClass::Bytes => "bytes",
        UnitClass::Count => "count",
    };
    ProfileType {
        name: String::new(),
        sample_type: sample_type.to_owned(),
        sample_unit: unit.to_owned(),
        period_type: String::new(),
        period_unit: String::new(),
    }
}

fn known(exact: &ProfileType, candidates: &Candidates<'_>) -> Resolved {
    if candidates.types.contains(exact) {
        return Resolved::Type(exact.clone());
    }
    Resolved::Nothing(nothing(&exact.to_string(), candidates.types))
}

fn nothing(asked: &str, types: &[ProfileType]) -> String {
    if types.is_empty() {
        return "no profile matches labels and range".into();
    }
    let names: Vec<String> = types.iter().take(20).map(ToString::to_string).collect();
    format!("no profile of type {asked:?}; there are {}", names.join(", "))
}

fn same_name(types: &[&ProfileType]) -> bool {
    types.windows(2).all(|pair| pair[0].name == pair[1].name)
}

/// The types that a word fits, by the first rule that gives any.
fn short_form<'a>(short: &str, types: &'a [ProfileType]) -> Vec<&'a ProfileType> {
    let chosen = |accept: &dyn Fn(&ProfileType) -> bool| -> Vec<&'a ProfileType> {
        types.iter().filter(|t| accept(t)).collect()
    };
    if let Some(known) = SHORT_FORMS.iter().find(|known| known.word == short) {
        let fits = chosen(&|candidate| known.fits(candidate));
        if !fits.is_empty() {
            return fits;
        }
    }
    if short.contains(':') {
        let parts: Vec<&str> = short.trim_end_matches(':').split(':').collect();
        return chosen(&|candidate| {
            let of = [
                &candidate.name,
                &candidate.sample_type,
                &candidate.sample_unit,
                &candidate.period_type,
                &candidate.period_unit,
            ];
            parts.len() <= of.len() && parts.iter().zip(of).all(|(part, of)| part == of)
        });
    }
    let by_sample_type = chosen(&|candidate| candidate.sample_type == short);
    if !by_sample_type.is_empty() {
        return by_sample_type;
    }
    chosen(&|candidate| candidate.name == short)
}

/// Nothing was named: the only type; in one kind of profile what it asks to show, else its last column; else `cpu`.
fn unnamed(
    candidates: &Candidates<'_>,
    columns: Columns,
    default_column: impl FnOnce() -> Result<Option<String>, QueryError>,
) -> Result<Resolved, QueryError> {
    match candidates.types {
        [] => return Ok(Resolved::Nothing(nothing("", &[]))),
        [only] => return Ok(Resolved::Type(only.clone())),
        _ => {}
    }
    if let [only] = candidates.series_types {
        let wanted = default_column()?;
        let own = only.columns.iter().position(|column| Some(&column.sample_type) == wanted.as_ref());
        let column = own.unwrap_or(only.columns.len().saturating_sub(1));
        if let Some(chosen) = only.profile_type(column).filter(|chosen| candidates.types.contains(chosen)) {
            return Ok(Resolved::Type(chosen));
        }
    }
    let cpu = short_form("cpu", candidates.types);
    if let [only] = cpu.as_slice() {
        return Ok(Resolved::Type((*only).clone()));
    }
    let all: Vec<&ProfileType> = candidates.types.iter().collect();
    if columns == Columns::AllOfName && same_name(&all) {
        return Ok(Resolved::Type(candidates.types[0].clone()));
    }
    Err(QueryError::Ambiguous {
        short: String::new(),
        candidates: candidates.types.iter().map(ToString::to_string).collect(),
    })
}

#[cfg(test)]
mod tests {
    use profile::TypedColumn;

    use super::*;

    fn series_type(name: &str, columns: &[(&str, &str)]) -> SeriesType {
        SeriesType {
            name: name.into(),
            period_type: columns[0].0.into(),
            period_unit: columns[0].1.into(),
            columns: columns
                .iter()
                .map(|(kind, unit)| TypedColumn { sample_type: (*kind).into(), sample_unit: (*unit).into() })
                .collect(),
        }
    }

    fn ask(asked: &TypeSelector, prefix: Option<&str>, all: &[SeriesType]) -> Result<String, QueryError> {
        ask_columns(asked, prefix, all, Columns::One, None)
    }

    fn ask_columns(
        asked: &TypeSelector,
        prefix: Option<&str>,
        all: &[SeriesType],
        columns: Columns,
        default: Option<&str>,
    ) -> Result<String, QueryError> {
        let mut types: Vec<ProfileType> = all
            .iter()
            .flat_map(|one| (0..one.columns.len()).filter_map(|column| one.profile_type(column)))
            .collect();
        types.sort();
        let series_types: Vec<&SeriesType> = all.iter().collect();
        let candidates = Candidates { types: &types, series_types: &series_types };
        resolve(asked, prefix, &candidates, columns, || Ok(default.map(Into::into))).map(|resolved| {
            match resolved {
                Resolved::Type(one) => one.to_string(),
                Resolved::Nothing(reason) => reason,
            }
        })
    }

    fn go() -> Vec<SeriesType> {
        vec![
            series_type("process_cpu", &[("samples", "count"), ("cpu", "nanoseconds")]),
            series_type(
                "memory",
                &[
                    ("alloc_objects", "count"),
                    ("alloc_space", "bytes"),
                    ("inuse_objects", "count"),
                    ("inuse_space", "bytes"),
                ],
            ),
            series_type("mutex", &[("contentions", "count"), ("delay", "nanoseconds")]),
            series_type("block", &[("contentions", "count"), ("delay", "nanoseconds")]),
            series_type("goroutines", &[("goroutine", "count")]),
        ]
    }

    #[test]
    fn short_forms_resolve_against_what_is_there() {
        let cases = [
            ("cpu", "process_cpu:cpu:nanoseconds:samples:count"),
            ("profile", "process_cpu:cpu:nanoseconds:samples:count"),
            ("process_cpu:cpu", "process_cpu:cpu:nanoseconds:samples:count"),
            ("heap", "memory:inuse_space:bytes:alloc_objects:count"),
            ("allocs", "memory:alloc_space:bytes:alloc_objects:count"),
            ("mutex", "mutex:delay:nanoseconds:contentions:count"),
            ("block", "block:delay:nanoseconds:contentions:count"),
            ("block:contentions:", "block:contentions:count:contentions:count"),
            ("goroutine", "goroutines:goroutine:count:goroutine:count"),
            ("goroutines", "goroutines:goroutine:count:goroutine:count"),
            ("samples", "process_cpu:samples:count:samples:count"),
        ];
        for (short, expected) in cases {
            assert_eq!(ask(&TypeSelector::Short(short.into()), None, &go()).unwrap(), expected, "{short}");
            assert_eq!(ask(&TypeSelector::Default, Some(short), &go()).unwrap(), expected, "{short}");
        }
        let micro = [series_type("python_cpu", &[("cpu", "microseconds")])];
        assert_eq!(
            ask(&TypeSelector::Short("cpu".into()), None, &micro).unwrap(),
            "python_cpu:cpu:microseconds:cpu:microseconds"
        );
    }

    /// D24: the table that people read has every word with what it stands for.
    #[test]
    fn the_documented_table_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/selectors.md");
        let text = std::fs::read_to_string(path).unwrap();
        for form in SHORT_FORMS {
            let names = if form.names.is_empty() {
                "any".to_owned()
            } else {
                format!("`{}`", form.names.join("` or `"))
            };
            let unit = match form.unit {
                UnitClass::Time => "a time",
                UnitClass::Bytes => "bytes",
                UnitClass::Count => "a count",
            };
            let row =
                format!("| `{}` | {names} | `{}` | {unit} |", form.word, form.sample_types.join("` or `"));
            assert!(text.contains(&row), "docs/selectors.md lacks {row}");
        }
        let rows = text.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, SHORT_FORMS.len());
    }

    #[test]
    fn several_fits_are_listed_and_none_is_no_error() {
        let error = ask(&TypeSelector::Short("delay".into()), None, &go()).unwrap_err().to_string();
        assert!(error.contains("mutex:delay") && error.contains("block:delay"), "{error}");
        let error = ask(&TypeSelector::Short("memory".into()), None, &go()).unwrap_err().to_string();
        assert!(error.contains("memory:alloc_space"), "{error}");
        assert!(
            ask(&TypeSelector::Short("lightyears".into()), None, &go())
                .unwrap()
                .contains("no profile of type")
        );
        assert!(ask(&TypeSelector::Short("cpu".into()), None, &[]).unwrap().contains("no profile matches"));
        let all = ask_columns(&TypeSelector::Short("memory".into()), None, &go(), Columns::AllOfName, None);
        assert!(all.unwrap().starts_with("memory:"));
    }

    #[test]
    fn without_a_name_the_only_kind_or_cpu_is_taken() {
        assert_eq!(
            ask(&TypeSelector::Default, None, &go()).unwrap(),
            "process_cpu:cpu:nanoseconds:samples:count"
        );
        assert!(ask(&TypeSelector::Default, None, &go()[1..3]).is_err());
        assert_eq!(
            ask(&TypeSelector::Default, None, &go()[1..2]).unwrap(),
            "memory:inuse_space:bytes:alloc_objects:count"
        );
    }

    /// C014: the default sample type is a name; one that names no column falls back to the last.
    #[test]
    fn c014_pprof_default_sample_type() {
        let chosen = |default| {
            ask_columns(&TypeSelector::Default, None, &go()[1..2], Columns::One, Some(default)).unwrap()
        };
        assert_eq!(chosen("alloc_space"), "memory:alloc_space:bytes:alloc_objects:count");
        assert_eq!(chosen("bananas"), "memory:inuse_space:bytes:alloc_objects:count");
    }
}
