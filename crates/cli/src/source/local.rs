//! Asks profile files: each side of a comparison is one dataset in memory, told apart by `service_name`.

use std::path::{Path, PathBuf};

use profile::{LabelSet, ProfileId, ProfileType, SERVICE_NAME, TimeRange, Timestamp};
use query::{
    Answer, CallersTable, Control, DiffTree, Engine, FlameTree, NameMode, ProfileItem, QueryError, Selection,
    Selector, SpanFilter, TopTable, TypeSelector,
};

use super::{
    Told, ValueArguments,
    files::{self, Columns},
};
use crate::{failure::Failure, time};

/// `service_name` of each side.
const SIDES: [&str; 2] = ["left", "right"];

/// Files in memory with an engine over them.
pub struct Local {
    engine: Engine,
    /// One per side.
    selections: Vec<Selection>,
    mode: NameMode,
    title: String,
}

impl Local {
    /// Reads one or two sides of files.
    ///
    /// # Errors
    /// When a file cannot be read, and when the wanted values are not in it.
    pub fn open(sides: &[&[PathBuf]], values: &ValueArguments) -> Result<Self, Failure> {
        let mut datasets = Vec::new();
        let mut first: Option<Columns> = None;
        for (paths, side) in sides.iter().zip(SIDES) {
            let (dataset, columns) = files::load(paths, side, values.file_format)?;
            datasets.push(dataset.snapshot());
            first.get_or_insert(columns);
        }
        let columns = first.ok_or_else(|| Failure::Usage("give at least one file".into()))?;
        let profile_type = choose(&columns, values.wanted_type()).map_err(Failure::Usage)?;
        let base = Selection {
            profile_type: TypeSelector::Exact(profile_type),
            range: range(values)?,
            profile_ids: profile_ids(&values.profile_ids)?,
            spans: spans(values)?,
            aggregation: values.agg.aggregation(),
            ..Selection::default()
        };
        let selections = SIDES
            .iter()
            .take(sides.len())
            .map(|side| Selection {
                selector: Selector::default().with_equal(SERVICE_NAME, side),
                ..base.clone()
            })
            .collect();
        Ok(Self {
            engine: Engine::over(datasets),
            selections,
            mode: values.name_mode(),
            title: sides.iter().map(|paths| title(paths)).collect::<Vec<_>>().join(" → "),
        })
    }

    /// Names of the files.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// See [`super::Source::why_nothing`].
    #[must_use]
    pub fn why_nothing(&self, side: usize) -> Option<String> {
        let asked = self.selections.get(side).or(self.selections.first())?;
        if asked.range == TimeRange::ALL {
            return None;
        }
        let always =
            Selection { range: TimeRange::ALL, profile_type: TypeSelector::Default, ..asked.clone() };
        let newest = self.engine.profiles(&always, 1, &Control::default()).ok()?.data.pop()?;
        Some(match time::text(newest.time) {
            text if text.is_empty() => "the file states no time; leave --from and --to out".to_owned(),
            text => {
                format!("the file's newest profile is of {text}; leave --from and --to out, or give others")
            }
        })
    }

    fn ask<T>(
        &self,
        ask: impl FnOnce(&Engine, &[Selection], &Control) -> Result<Answer<T>, QueryError>,
    ) -> Result<Told<T>, Failure> {
        let answer = ask(&self.engine, &self.selections, &Control::default())
            .map_err(|error| Failure::Failed(format!("{}: {error}", self.title)))?;
        Ok(Told { data: answer.data, stats: answer.stats })
    }

    /// See [`super::Source::flame`]; so for all below.
    ///
    /// # Errors
    /// When the engine has no answer.
    pub fn flame(&self, nodes_max: usize) -> Result<Told<FlameTree>, Failure> {
        self.ask(|engine, sides, control| engine.flame(&sides[0], self.mode, nodes_max, control))
    }

    /// Functions by own value.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn top(&self) -> Result<Told<TopTable>, Failure> {
        self.ask(|engine, sides, control| engine.top(&sides[0], self.mode, control))
    }

    /// Callers and callees.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn callers(&self, function: &str) -> Result<Told<CallersTable>, Failure> {
        self.ask(|engine, sides, control| engine.callers(&sides[0], self.mode, function, control))
    }

    /// Both sides.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn diff(&self, nodes_max: usize) -> Result<Told<DiffTree>, Failure> {
        self.ask(|engine, sides, control| {
            let right = sides.get(1).unwrap_or(&sides[0]);
            engine.diff(&sides[0], right, self.mode, nodes_max, control)
        })
    }

    /// The files merged into one pprof with all columns, not compressed.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn pprof(&self) -> Result<Told<Vec<u8>>, Failure> {
        let all = self.any_type();
        self.ask(|engine, _, control| {
            let data = engine.pprof(&all, control)?;
            Ok(Answer { data: data.data, stats: data.stats })
        })
    }

    /// Names of the labels of samples.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn label_names(&self) -> Result<Told<Vec<String>>, Failure> {
        let all = self.any_type();
        let mut told = self.ask(|engine, _, control| engine.label_names(&all, control))?;
        told.data.retain(|name| name != SERVICE_NAME);
        Ok(told)
    }

    /// Values of a label.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn label_values(&self, name: &str) -> Result<Told<Vec<String>>, Failure> {
        let all = self.any_type();
        self.ask(|engine, _, control| engine.label_values(&all, name, control))
    }

    /// Distinct label sets.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn series(&self, by: &[String]) -> Result<Told<Vec<LabelSet>>, Failure> {
        let all = self.any_type();
        let mut told =
            self.ask(|engine, _, control| engine.series(&all, by, query::SampleLabels::All, control))?;
        told.data.iter_mut().for_each(forget_side);
        Ok(told)
    }

    /// The profiles themselves.
    ///
    /// # Errors
    /// See [`Local::flame`].
    pub fn profiles(&self, limit: usize) -> Result<Told<Vec<ProfileItem>>, Failure> {
        let all = self.any_type();
        let mut told = self.ask(|engine, _, control| engine.profiles(&all, limit, control))?;
        told.data.iter_mut().for_each(|profile| forget_side(&mut profile.labels));
        Ok(told)
    }

    /// The first side, whatever it measures.
    fn any_type(&self) -> Selection {
        Selection { profile_type: TypeSelector::Default, ..self.selections[0].clone() }
    }
}

/// Takes away the label that tells sides apart, which is none of the file's.
fn forget_side(labels: &mut LabelSet) {
    let rest = labels.iter().filter(|(name, _)| *name != SERVICE_NAME);
    if let Ok(rest) = LabelSet::from_pairs(rest) {
        *labels = rest;
    }
}

/// Up to two names, and how many more.
#[must_use]
pub fn title(paths: &[PathBuf]) -> String {
    let name = |path: &PathBuf| match path.file_name() {
        _ if path == Path::new("-") => "stdin".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.display().to_string(),
    };
    let shown: Vec<String> = paths.iter().take(2).map(name).collect();
    match paths.len().saturating_sub(2) {
        0 => shown.join(" + "),
        more => format!("{} + {more} more", shown.join(" + ")),
    }
}

/// The column that `wanted` names: a position, a sample type (pprof's words), or a full profile type; without it the
/// default one.
///
/// # Errors
/// A sentence with what there is.
pub fn choose(columns: &Columns, wanted: Option<&str>) -> Result<ProfileType, String> {
    let types = &columns.types;
    let Some(wanted) = wanted else {
        return types.get(columns.default).cloned().ok_or_else(|| "the profile has no values".to_owned());
    };
    let names = || types.iter().map(|typed| typed.sample_type.as_str()).collect::<Vec<_>>().join(", ");
    if let Ok(position) = wanted.parse::<usize>() {
        let last = types.len().saturating_sub(1);
        return types
            .get(position)
            .cloned()
            .ok_or_else(|| format!("sample index {position} is out of range (0 to {last}: {})", names()));
    }
    // pprof takes `inuse_space` for profiles that call it `space`.
    let short = wanted.strip_prefix("inuse_").unwrap_or(wanted);
    let fits = |typed: &&ProfileType| typed.sample_type == wanted || typed.to_string() == wanted;
    types
        .iter()
        .find(fits)
        .or_else(|| types.iter().find(|typed| typed.sample_type == short))
        .cloned()
        .ok_or_else(|| format!("the profile has no sample type {wanted:?}; it has {}", names()))
}

fn range(values: &ValueArguments) -> Result<TimeRange, Failure> {
    let now = Timestamp::now();
    let read = |name: &str, text: &Option<String>, open: Timestamp| match text {
        None => Ok(open),
        Some(text) => {
            time::instant(text, now).map_err(|reason| Failure::Usage(format!("--{name}: {text:?} {reason}")))
        }
    };
    Ok(TimeRange {
        from: read("from", &values.from, TimeRange::ALL.from)?,
        to: read("to", &values.to, TimeRange::ALL.to)?,
    })
}

fn profile_ids(texts: &[String]) -> Result<Vec<ProfileId>, Failure> {
    let read = |text: &String| {
        ProfileId::parse(text).map_err(|error| Failure::Usage(format!("--profile-id: {error}")))
    };
    texts.iter().map(read).collect()
}

fn spans(values: &ValueArguments) -> Result<SpanFilter, Failure> {
    if !values.span_ids.is_empty() {
        return hexadecimal::<8>("span-id", &values.span_ids).map(SpanFilter::Spans);
    }
    if !values.trace_ids.is_empty() {
        return hexadecimal::<16>("trace-id", &values.trace_ids).map(SpanFilter::Traces);
    }
    Ok(SpanFilter::None)
}

fn hexadecimal<const N: usize>(flag: &str, texts: &[String]) -> Result<Vec<[u8; N]>, Failure> {
    let read = |text: &String| -> Option<[u8; N]> {
        let mut id = [0; N];
        let well_formed = text.len() == 2 * N && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        for (position, byte) in id.iter_mut().enumerate().filter(|_| well_formed) {
            *byte = u8::from_str_radix(&text[2 * position..2 * position + 2], 16).ok()?;
        }
        well_formed.then_some(id)
    };
    let wrong =
        |text: &String| Failure::Usage(format!("--{flag}: {text:?} is not {} hexadecimal digits", 2 * N));
    texts.iter().map(|text| read(text).ok_or_else(|| wrong(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        let typed = |kind: &str, unit: &str| ProfileType {
            name: "profile".into(),
            sample_type: kind.into(),
            sample_unit: unit.into(),
            period_type: "space".into(),
            period_unit: "bytes".into(),
        };
        Columns { types: vec![typed("objects", "count"), typed("space", "bytes")], default: 1 }
    }

    #[test]
    fn sample_types_are_named_as_in_pprof() {
        for (wanted, kind) in [
            (None, "space"),
            (Some("0"), "objects"),
            (Some("objects"), "objects"),
            (Some("inuse_space"), "space"),
            (Some("profile:objects:count:space:bytes"), "objects"),
        ] {
            assert_eq!(choose(&columns(), wanted).unwrap().sample_type, kind, "{wanted:?}");
        }
        let error = choose(&columns(), Some("cpu")).unwrap_err();
        assert_eq!(error, "the profile has no sample type \"cpu\"; it has objects, space");
        assert!(choose(&columns(), Some("2")).unwrap_err().contains("out of range (0 to 1"));
    }

    #[test]
    fn ids_are_hexadecimal_digits() {
        assert_eq!(hexadecimal::<2>("span-id", &["00ff".into()]).unwrap(), [[0, 255]]);
        for bad in ["", "00f", "00fg", "é0f"] {
            assert_eq!(hexadecimal::<2>("span-id", &[bad.into()]).unwrap_err().code(), 2, "{bad}");
        }
    }
}
