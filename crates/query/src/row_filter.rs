//! Which rows of a profile a query takes, where sample labels, spans or traces decide (D6).
//!
//! A matcher on a label that the series has is decided by the series; on any other label each row answers for itself. A
//! row without the label has the empty value; of several values of one key one must fit.

use block::{Dataset, LabelPair, Rows, StoredLabelValue, Symbols};
use profile::Link;

use crate::{Matcher, QueryError, SpanFilter, limits, progress::Progress};

/// The sample labels that the store keeps as links; they answer to these names.
pub(crate) const SPAN_LABEL: &str = "span_id";
/// See [`SPAN_LABEL`].
pub(crate) const TRACE_LABEL: &str = "trace_id";

/// A decision per label set of one dataset, and what must be asked of each row.
#[derive(Clone, Debug)]
pub(crate) struct RowFilter<'a> {
    /// Position in the selector of each matcher that rows decide.
    deferred: Vec<usize>,
    label_sets: Vec<bool>,
    link_matchers: Vec<&'a Matcher>,
    links: Links,
}

/// A [`SpanFilter`] for looking up, sorted.
#[derive(Clone, Debug)]
enum Links {
    All,
    Spans(Vec<[u8; 8]>),
    Traces(Vec<[u8; 16]>),
}

impl Links {
    fn new(filter: &SpanFilter) -> Self {
        let mut spans = match filter {
            SpanFilter::None => Self::All,
            SpanFilter::Spans(spans) => Self::Spans(spans.clone()),
            SpanFilter::Traces(traces) => Self::Traces(traces.clone()),
        };
        match &mut spans {
            Self::All => {}
            Self::Spans(spans) => spans.sort_unstable(),
            Self::Traces(traces) => traces.sort_unstable(),
        }
        spans
    }
}

impl<'a> RowFilter<'a> {
    /// Tries every label set of the dataset against the matchers at the `deferred` positions.
    pub fn new(
        dataset: &dyn Dataset,
        matchers: &'a [Matcher],
        deferred: &[usize],
        spans: &SpanFilter,
        progress: &Progress<'_>,
    ) -> Result<Self, QueryError> {
        let is_link = |position: &&usize| matches!(matchers[**position].name(), SPAN_LABEL | TRACE_LABEL);
        let of_links = deferred.iter().filter(is_link).map(|&position| &matchers[position]).collect();
        let of_labels: Vec<&Matcher> = deferred
            .iter()
            .filter(|position| !is_link(position))
            .map(|&position| &matchers[position])
            .collect();
        let mut label_sets = vec![true];
        if !of_labels.is_empty() {
            let symbols = dataset.symbols()?;
            let mut unchecked = 0_usize;
            label_sets.clear();
            for id in 0..symbols.label_set_count().max(1) {
                let pairs = symbols.label_set(id);
                let mut is_accepted = true;
                for matcher in &of_labels {
                    unchecked += 1 + pairs.len();
                    if unchecked >= limits::SAMPLE_LABELS_PER_CHECK {
                        progress.check()?;
                        unchecked = 0;
                    }
                    is_accepted = is_accepted && accepts(&*symbols, &pairs, matcher);
                }
                label_sets.push(is_accepted);
            }
        }
        Ok(Self {
            deferred: deferred.to_vec(),
            label_sets,
            link_matchers: of_links,
            links: Links::new(spans),
        })
    }

    /// Whether it stands for these matchers.
    pub fn is_for(&self, deferred: &[usize]) -> bool {
        self.deferred == deferred
    }

    /// Whether no row can be left out.
    pub fn takes_all(&self) -> bool {
        self.link_matchers.is_empty()
            && matches!(self.links, Links::All)
            && self.label_sets.iter().all(|&accepted| accepted)
    }

    /// Whether rows without labels and without links are taken.
    pub fn takes_plain_row(&self) -> bool {
        self.accepts_set(0) && self.accepts_link(Link::default())
    }

    /// Whether a row is taken.
    #[inline]
    pub fn accepts(&self, rows: &Rows, row: usize) -> bool {
        self.accepts_set(rows.label_sets.get(row).copied().unwrap_or(0))
            && self.accepts_link(rows.links.get(row).copied().unwrap_or_default())
    }

    fn accepts_set(&self, id: u32) -> bool {
        // A filter without label matchers has one entry, for every set.
        self.label_sets.get(id as usize).copied().unwrap_or(self.label_sets[0])
    }

    fn accepts_link(&self, link: Link) -> bool {
        let in_spans = match &self.links {
            Links::All => true,
            Links::Spans(spans) => spans.binary_search(&link.span_id).is_ok(),
            Links::Traces(traces) => traces.binary_search(&link.trace_id).is_ok(),
        };
        in_spans
            && self.link_matchers.iter().all(|matcher| {
                let text = link_text(matcher.name(), link);
                matcher.accepts(&text)
            })
    }
}

fn accepts(symbols: &dyn Symbols, pairs: &[LabelPair], matcher: &Matcher) -> bool {
    let values = label_values(symbols, pairs, matcher.name());
    matcher.accepts_any(values.iter().map(String::as_str))
}

/// All values of one key in a label set.
pub(crate) fn label_values(symbols: &dyn Symbols, pairs: &[LabelPair], key: &str) -> Vec<String> {
    let of_key = pairs.iter().filter(|pair| *symbols.string(pair.key) == *key.as_bytes());
    of_key.map(|pair| value_text(symbols, pair.value)).collect()
}

/// A sample label's value as text: a number is written with its unit where it has one, `16` or `16bytes` (C019).
pub(crate) fn value_text(symbols: &dyn Symbols, value: StoredLabelValue) -> String {
    match value {
        StoredLabelValue::Text(id) => text(symbols, id),
        StoredLabelValue::Number { value, unit } => format!("{value}{}", text(symbols, unit)),
    }
}

/// A string for display: invalid UTF-8 is replaced.
pub(crate) fn text(symbols: &dyn Symbols, id: u32) -> String {
    String::from_utf8_lossy(&symbols.string(id)).into_owned()
}

/// A link's id in hexadecimal digits; the empty text where it has none.
pub(crate) fn link_text(label: &str, link: Link) -> String {
    let bytes: &[u8] = if label == SPAN_LABEL { &link.span_id } else { &link.trace_id };
    if bytes.iter().all(|&byte| byte == 0) {
        return String::new();
    }
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        use std::fmt::Write as _;
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
