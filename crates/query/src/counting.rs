//! Questions that are asked of every profile as it is accepted: what one column adds to the sum of each group.
//!
//! The answer to a [`CountQuery`] over some profiles is what a timeline over the same profiles adds up to, group by
//! group (D6 included: where a series lacks a label, rows answer). With a function it is the sum over the rows whose
//! stack has a frame of that display name, each row once. Nothing is merged and no range matters, so a question is cheap:
//! per series it is tried once, per profile without sample labels and without a function it is one addition.
//!
//! Called by `rules`. Refused: spans and traces, of which there is no end; short forms of profile types, which may mean
//! another type tomorrow.

use std::collections::{BTreeMap, HashMap};

use block::{BlockError, Dataset, NONE, Rows, Symbols};
use profile::ProfileType;

use crate::{
    MatchOperator, Matcher, QueryError, Selector,
    display::shown_name,
    limits,
    row_filter::{SPAN_LABEL, TRACE_LABEL, label_values},
    scan::{TypeLabel, match_series},
};

/// Values of the labels grouped by, in their order; `None` = not there.
pub type Group = Vec<Option<String>>;

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountQuery {
    matchers: Vec<Matcher>,
    profile_type: ProfileType,
    group_by: Vec<String>,
    function: Option<String>,
}

impl CountQuery {
    /// Checks a question. The selector has to name one full profile type, before its brace or by
    /// `__profile_type__="…"`; `function` is a display name.
    ///
    /// # Errors
    /// Names the field (`selector`, `group_by`, `function`) and the reason.
    pub fn new(selector: &Selector, group_by: &[String], function: Option<&str>) -> Result<Self, QueryError> {
        let profile_type = full_type(selector)?;
        for matcher in selector.matchers() {
            check_label("selector", matcher.name())?;
        }
        if group_by.len() > limits::GROUP_LABELS_MAX {
            let reason = format!("names {} labels (limit {})", group_by.len(), limits::GROUP_LABELS_MAX);
            return Err(QueryError::invalid("group_by", reason));
        }
        for (position, name) in group_by.iter().enumerate() {
            check_label("group_by", name)?;
            if name.is_empty() || TypeLabel::of(name).is_some() {
                let reason = format!("{name:?} is no label that profiles of one type differ by");
                return Err(QueryError::invalid("group_by", reason));
            }
            if group_by[..position].contains(name) {
                return Err(QueryError::invalid("group_by", format!("names {name:?} twice")));
            }
        }
        if function.is_some_and(str::is_empty) {
            return Err(QueryError::invalid("function", "is empty"));
        }
        Ok(Self {
            matchers: selector.matchers().to_vec(),
            profile_type,
            group_by: group_by.to_vec(),
            function: function.map(ToOwned::to_owned),
        })
    }

    /// The type whose column is summed.
    #[must_use]
    pub fn profile_type(&self) -> &ProfileType {
        &self.profile_type
    }

    /// The matchers.
    #[must_use]
    pub fn matchers(&self) -> &[Matcher] {
        &self.matchers
    }

    /// The labels grouped by.
    #[must_use]
    pub fn group_by(&self) -> &[String] {
        &self.group_by
    }

    /// The function, where only rows with it count.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }
}

fn full_type(selector: &Selector) -> Result<ProfileType, QueryError> {
    const LABEL: &str = "__profile_type__";
    let by_label = selector.matchers().iter().filter(|matcher| matcher.name() == LABEL);
    let mut named: Vec<&str> = selector.profile_type().into_iter().collect();
    for matcher in by_label {
        if matcher.operator() != MatchOperator::Equal {
            return Err(QueryError::invalid("selector", format!("{LABEL} has to be compared with =")));
        }
        named.push(matcher.value());
    }
    let [first, rest @ ..] = named.as_slice() else {
        let reason =
            format!("names no profile type; add {LABEL}=\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\"");
        return Err(QueryError::invalid("selector", reason));
    };
    if rest.iter().any(|other| other != first) {
        return Err(QueryError::invalid("selector", "names several profile types"));
    }
    ProfileType::parse(first).map_err(|error| QueryError::invalid("selector", error.to_string()))
}

fn check_label(field: &str, name: &str) -> Result<(), QueryError> {
    if matches!(name, SPAN_LABEL | TRACE_LABEL) {
        return Err(QueryError::invalid(field, format!("{name:?} is another with every request")));
    }
    Ok(())
}

/// Questions that are asked together, of one tenant's profiles.
#[derive(Debug, Default)]
pub struct Counting {
    queries: Vec<CountQuery>,
    /// Distinct functions of the queries.
    functions: Vec<String>,
    /// Position of each query's function.
    function_of: Vec<Option<usize>>,
}

/// What was worked out for one dataset, for its next profile. Only good for the [`Counting`] it was filled by, and for
/// datasets that only grow.
#[derive(Debug, Default)]
pub struct CountingCache {
    /// What is to be done per series.
    series: Vec<Vec<Planned>>,
    /// Frames looked at, and which function those that have one of the functions have.
    frames: u32,
    frame_functions: HashMap<u32, usize>,
    /// For each function node the set of functions on its path, see `sets`.
    node_sets: Vec<u32>,
    /// Sets of functions; the first is empty.
    sets: Vec<Vec<usize>>,
    /// From a set and a function to the set with both.
    unions: HashMap<(u32, usize), u32>,
}

/// A question that takes a series.
#[derive(Debug)]
struct Planned {
    query: usize,
    column: usize,
    /// What the series itself says of the labels grouped by; the empty value is none.
    group: Group,
    /// Positions of the labels grouped by that the series does not have, so that rows answer.
    open: Vec<usize>,
    /// Positions of the matchers that rows answer.
    deferred: Vec<usize>,
}

impl Counting {
    /// Puts questions together.
    #[must_use]
    pub fn new(queries: Vec<CountQuery>) -> Self {
        let mut functions: Vec<String> = queries.iter().filter_map(|query| query.function.clone()).collect();
        functions.sort_unstable();
        functions.dedup();
        let position = |query: &CountQuery| functions.binary_search(query.function.as_ref()?).ok();
        let function_of = queries.iter().map(position).collect();
        Self { queries, functions, function_of }
    }

    /// Asks all questions that `is_wanted` takes of one profile. `add` is told the question, the group and the value; of
    /// one question and profile it may be told several groups, sorted by label set.
    ///
    /// # Errors
    /// When rows or symbols cannot be read.
    pub fn count(
        &self,
        cache: &mut CountingCache,
        dataset: &dyn Dataset,
        profile: u32,
        is_wanted: impl Fn(usize) -> bool,
        mut add: impl FnMut(usize, &Group, i128),
    ) -> Result<(), BlockError> {
        let meta = dataset.profile(profile);
        self.plan(cache, dataset, meta.series);
        let planned = std::mem::take(&mut cache.series[meta.series as usize]);
        let mut rows = None;
        let mut result = Ok(());
        for planned in planned.iter().filter(|planned| is_wanted(planned.query)) {
            let rows_decide = meta.has_labels && !(planned.deferred.is_empty() && planned.open.is_empty());
            let matchers = &self.queries[planned.query].matchers;
            if !rows_decide && !planned.deferred.iter().all(|&position| matchers[position].accepts("")) {
                continue;
            }
            if !rows_decide && self.function_of[planned.query].is_none() {
                add(planned.query, &planned.group, i128::from(meta.totals[planned.column]));
                continue;
            }
            result = self.count_rows(cache, dataset, profile, planned, &mut rows, &mut add);
            if result.is_err() {
                break;
            }
        }
        cache.series[meta.series as usize] = planned;
        result
    }

    /// Tries all questions on series that were not met yet.
    fn plan(&self, cache: &mut CountingCache, dataset: &dyn Dataset, series: u32) {
        let known = u32::try_from(cache.series.len()).unwrap_or(u32::MAX);
        for position in known..=series {
            let series = dataset.series(position);
            let planned = self.queries.iter().enumerate().filter_map(|(number, query)| {
                let matched = match_series(series, &query.matchers)?;
                let column = (0..matched.columns.len()).find(|&column| {
                    matched.columns[column]
                        && series.series_type.profile_type(column).as_ref() == Some(&query.profile_type)
                })?;
                let values: Vec<Option<&str>> =
                    query.group_by.iter().map(|name| series.labels.get(name)).collect();
                let open = (0..values.len()).filter(|&position| values[position].is_none()).collect();
                let not_empty =
                    |value: Option<&str>| Some(value.filter(|value| !value.is_empty())?.to_owned());
                let group = values.into_iter().map(not_empty).collect();
                Some(Planned { query: number, column, group, open, deferred: matched.deferred })
            });
            cache.series.push(planned.collect());
        }
    }

    /// Sums the rows of one profile that a question takes, by group.
    fn count_rows(
        &self,
        cache: &mut CountingCache,
        dataset: &dyn Dataset,
        profile: u32,
        planned: &Planned,
        rows: &mut Option<Rows>,
        add: &mut impl FnMut(usize, &Group, i128),
    ) -> Result<(), BlockError> {
        let symbols = dataset.symbols()?;
        let function = self.function_of[planned.query];
        if function.is_some() {
            cache.extend(&self.functions, &*symbols);
        }
        let rows = match rows {
            Some(rows) => rows,
            None => {
                let mut read = Rows::default();
                dataset.rows(profile, &mut read)?;
                rows.insert(read)
            }
        };
        let query = &self.queries[planned.query];
        let width = rows.values.len() / rows.nodes.len().max(1);
        // By label set; `None` = its rows are not taken.
        let mut sums: BTreeMap<u32, Option<i128>> = BTreeMap::new();
        for (row, &node) in rows.nodes.iter().enumerate() {
            if function.is_some_and(|function| !cache.is_below(&*symbols, node, function)) {
                continue;
            }
            let label_set = rows.label_sets.get(row).copied().unwrap_or(0);
            let sum = sums.entry(label_set).or_insert_with(|| {
                let pairs = symbols.label_set(label_set);
                let accepts = |&position: &usize| {
                    let matcher = &query.matchers[position];
                    let values = label_values(&*symbols, &pairs, matcher.name());
                    matcher.accepts_any(values.iter().map(String::as_str))
                };
                planned.deferred.iter().all(accepts).then_some(0)
            });
            if let Some(sum) = sum {
                *sum += i128::from(rows.values[row * width + planned.column]);
            }
        }
        for (label_set, sum) in sums {
            let Some(sum) = sum else { continue };
            if planned.open.is_empty() {
                add(planned.query, &planned.group, sum);
                continue;
            }
            let pairs = symbols.label_set(label_set);
            let mut group = planned.group.clone();
            for &position in &planned.open {
                // Of several values of one key the first names the group, as on a timeline.
                let values = label_values(&*symbols, &pairs, &query.group_by[position]);
                group[position] = values.into_iter().next().filter(|value| !value.is_empty());
            }
            add(planned.query, &group, sum);
        }
        Ok(())
    }
}

impl CountingCache {
    /// Looks at frames and function nodes that are new since the last time.
    fn extend(&mut self, functions: &[String], symbols: &dyn Symbols) {
        for id in self.frames..symbols.frame_count() {
            if let Ok(function) = functions.binary_search(&shown_name(&symbols.frame(id))) {
                self.frame_functions.insert(id, function);
            }
        }
        self.frames = self.frames.max(symbols.frame_count());
        if self.sets.is_empty() {
            self.sets.push(Vec::new());
        }
        let known = u32::try_from(self.node_sets.len()).unwrap_or(u32::MAX);
        for id in known..symbols.function_node_count() {
            let node = symbols.function_node(id);
            let above = if node.parent == NONE { 0 } else { self.node_sets[node.parent as usize] };
            let set = match self.frame_functions.get(&node.frame) {
                Some(&function) => self.with(above, function),
                None => above,
            };
            self.node_sets.push(set);
        }
    }

    /// The set that has a function beside those of another set.
    fn with(&mut self, set: u32, function: usize) -> u32 {
        if self.sets[set as usize].contains(&function) {
            return set;
        }
        *self.unions.entry((set, function)).or_insert_with(|| {
            let mut union = self.sets[set as usize].clone();
            union.push(function);
            self.sets.push(union);
            u32::try_from(self.sets.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Whether the stack of a node has a function.
    fn is_below(&self, symbols: &dyn Symbols, node: u32, function: usize) -> bool {
        if node == NONE {
            return false;
        }
        let set = self.node_sets[symbols.node(node).function_node as usize];
        set != 0 && self.sets[set as usize].contains(&function)
    }
}
