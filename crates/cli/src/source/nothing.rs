//! Why a server found nothing: which name of the question is not there, or where what was asked for lies instead.
//!
//! Asked only where an answer is empty, and cheap: lists that servers answer from their indices. Not here: the answer itself. A
//! request that fails here is no failure of the command; then nothing more is said.

use client::{Client, Question};
use profile::{SERVICE_NAME, Timestamp};
use query::{MatchOperator, Matcher, Selector};
use wire::ServiceItem;

use super::{FROM_ALWAYS, TO_ALWAYS};
use crate::{alike, time};

/// Labels of a selector that are looked up.
const LABELS_MAX: usize = 8;

/// A question that had an empty answer.
#[derive(Clone, Copy)]
pub struct Nothing<'a> {
    pub client: &'a Client,
    /// Whether a tenant was named, so that another one may have what is missing.
    pub has_tenant: bool,
    pub selector: &'a str,
    /// What --type said, which wins over the selector's own.
    pub profile_type: Option<&'a str>,
    pub from: Option<&'a str>,
    /// The flag that says `from`.
    pub from_flag: &'static str,
    pub to: Option<&'a str>,
    /// Whether profiles, spans or traces were chosen by id.
    pub has_ids: bool,
}

impl Nothing<'_> {
    /// A sentence for people; `None` where nothing better is known than that there is nothing.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let selector = Selector::parse(self.selector).ok()?;
        let selector = match self.profile_type {
            Some(said) => selector.with_profile_type(said),
            None => selector,
        };
        let (from, to) = (self.from.unwrap_or(FROM_ALWAYS), self.to.unwrap_or(TO_ALWAYS));
        if !self.services(&selector, from, to)?.is_empty() {
            let text = "there are profiles, but none that the ids choose; leave --profile-id, --span-id and --trace-id out to see";
            return self.has_ids.then(|| text.to_owned());
        }
        let all = self.client.services(&always()).ok()?.services;
        if all.is_empty() {
            let whose = if self.has_tenant { "of this tenant" } else { "at all" };
            return Some(format!(
                "the server has no profile {whose}; everflame push sends one, everflame explain tells what was refused"
            ));
        }
        self.service_as_type(&selector, &all)
            .or_else(|| self.label(&selector, &all))
            .or_else(|| self.range(&selector, to))
            .or_else(|| self.of_other_type(&selector, from, to))
            .or_else(|| together(&selector))
    }

    /// Services that have profiles of a selector; `None` where the server does not say.
    fn services(&self, selector: &Selector, from: &str, to: &str) -> Option<Vec<ServiceItem>> {
        let question = Question::new().with("q", selector.to_string()).with("from", from).with("to", to);
        Some(self.client.services(&question).ok()?.services)
    }

    /// `everflame top api`: a service where a profile type stands.
    fn service_as_type(&self, selector: &Selector, all: &[ServiceItem]) -> Option<String> {
        let word = selector.profile_type().filter(|_| selector.matchers().is_empty())?;
        all.iter().find(|service| service.name == word)?;
        let meant = Selector::default().with_equal(SERVICE_NAME, word);
        Some(format!("{word} is a service and no profile type; ask for '{meant}'"))
    }

    /// A label, or a value of one, that no profile has at any time.
    fn label(&self, selector: &Selector, all: &[ServiceItem]) -> Option<String> {
        // What follows from the profile type or the sample is in no list of labels.
        let is_listed = |name: &str| !name.starts_with("__") && !matches!(name, "span_id" | "trace_id");
        let is_fitting = |operator| matches!(operator, MatchOperator::Equal | MatchOperator::Regex);
        let wanted = |matcher: &&Matcher| {
            is_fitting(matcher.operator()) && !matcher.value().is_empty() && is_listed(matcher.name())
        };
        let mut matchers = selector.matchers().iter().filter(wanted).take(LABELS_MAX).peekable();
        matchers.peek()?;
        let names = self.client.label_names(&always()).ok()?.names;
        matchers.find_map(|matcher| {
            let name = matcher.name();
            if !names.iter().any(|known| known == name) {
                if matcher.accepts("") {
                    return None;
                }
                let instead = alike::instead(name, names.iter().map(String::as_str));
                return Some(format!("no profile has a label {name}: {instead}"));
            }
            let values = match name {
                SERVICE_NAME => all.iter().map(|service| service.name.clone()).collect(),
                _ => self.client.label_values(name, &always()).ok()?.values,
            };
            if values.iter().any(|value| matcher.accepts(value)) {
                return None;
            }
            let value = matcher.value();
            let instead = alike::instead(value, values.iter().map(String::as_str));
            Some(match matcher.operator() {
                MatchOperator::Equal => format!("no profile has {name}={value:?}: {instead}"),
                _ => format!("no whole value of {name} fits {value:?}: {instead}"),
            })
        })
    }

    /// Profiles of the selection outside of the range.
    fn range(&self, selector: &Selector, to: &str) -> Option<String> {
        if self.from.is_some()
            && let Some(last) = newest(&self.services(selector, FROM_ALWAYS, to)?)
        {
            let flag = self.from_flag;
            return Some(format!(
                "the newest profile before this range is of {last}; {flag} {last} asks for it"
            ));
        }
        self.to?;
        let last = newest(&self.services(selector, FROM_ALWAYS, TO_ALWAYS)?)?;
        Some(format!("what matches is later than this range; the newest profile is of {last}"))
    }

    /// Profile types that the labels have at other times; those within the range are in the answer's own notice.
    fn of_other_type(&self, selector: &Selector, from: &str, to: &str) -> Option<String> {
        let word = selector.profile_type()?;
        let untyped = selector.clone().without_profile_type();
        if !self.services(&untyped, from, to)?.is_empty() {
            return None;
        }
        let services = self.services(&untyped, FROM_ALWAYS, TO_ALWAYS)?;
        let last = newest(&services)?;
        let mut types: Vec<&str> =
            services.iter().flat_map(|service| service.types.iter().map(String::as_str)).collect();
        types.sort_unstable();
        types.dedup();
        let types = alike::list(&types);
        Some(format!("there is no {word:?} at any time; there are {types}, the newest profile is of {last}"))
    }
}

/// Each label is there, and none of the reasons above.
fn together(selector: &Selector) -> Option<String> {
    let text = "each of these labels is there, but no profile has them all; everflame series lists what goes together";
    (selector.matchers().len() > 1).then(|| text.to_owned())
}

fn always() -> Question {
    Question::new().with("from", FROM_ALWAYS).with("to", TO_ALWAYS)
}

/// The time of the newest profile, whole seconds.
fn newest(services: &[ServiceItem]) -> Option<String> {
    let times = services.iter().filter_map(|service| time::instant(&service.last, Timestamp(0)).ok());
    times.max().map(time::text).filter(|text| !text.is_empty())
}
