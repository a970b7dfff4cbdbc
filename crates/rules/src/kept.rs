//! What is kept of a rule book: definitions, and the sums of generations that are done. JSON; sums as text, since they
//! may be wider than what JSON readers take for a number.

use profile::Tenant;
use query::Group;
use serde::{Deserialize, Serialize};
use store::Place;

use crate::{
    Rule, RuleSpec,
    sums::{Sum, Sums},
};

/// Version of the form; others are refused.
const VERSION: u32 = 1;

/// Everything.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    version: u32,
    pub(crate) rules: Vec<KeptRule>,
}

/// One rule.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptRule {
    tenant: String,
    id: String,
    generation: i64,
    is_provisioned: bool,
    spec: RuleSpec,
    /// Generation and log number behind which profiles count.
    since: (u64, u64),
    /// Values of the labels grouped by, and the sum.
    groups: Vec<(Group, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<String>,
}

impl Kept {
    pub(crate) fn new(rules: Vec<KeptRule>) -> Self {
        Self { version: VERSION, rules }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Strings, lists and numbers always have a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let kept: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if kept.version != VERSION {
            return Err(format!("version {} of the rules is not known here", kept.version));
        }
        Ok(kept)
    }
}

impl KeptRule {
    /// A rule with what was counted up to the end of a generation; `None` = of what is done alone.
    pub(crate) fn new(tenant: &Tenant, rule: &Rule, since: Place, sums: &Sums, up_to: Option<u64>) -> Self {
        let value = |sum: &Sum| up_to.map_or(sum.done, |generation| sum.up_to(generation)).to_string();
        Self {
            tenant: tenant.as_str().to_owned(),
            id: rule.id.clone(),
            generation: rule.generation,
            is_provisioned: rule.is_provisioned,
            spec: rule.spec().clone(),
            since: (since.generation, since.sequence),
            groups: sums.groups.iter().map(|(group, sum)| (group.clone(), value(sum))).collect(),
            rest: sums.rest.as_ref().map(value),
        }
    }

    pub(crate) fn into_parts(self) -> Result<(Tenant, Rule, Place, Sums), String> {
        let id = self.id;
        let wrong = |reason: String| format!("rule {id:?}: {reason}");
        let tenant = Tenant::parse(&self.tenant).map_err(|error| wrong(error.to_string()))?;
        let mut rule = Rule::new(self.spec).map_err(|error| wrong(error.to_string()))?;
        let number = |text: &str| text.parse().map(Sum::of).map_err(|_| wrong(format!("sum {text:?}")));
        let mut sums = Sums::default();
        for (group, sum) in self.groups {
            if group.len() != rule.query().group_by().len() {
                return Err(wrong("a group of other labels".to_owned()));
            }
            sums.groups.insert(group, number(&sum)?);
        }
        sums.rest = self.rest.as_deref().map(number).transpose()?;
        let since = Place { generation: self.since.0, sequence: self.since.1 };
        (rule.id, rule.generation, rule.is_provisioned) = (id.clone(), self.generation, self.is_provisioned);
        Ok((tenant, rule, since, sums))
    }
}
