//! The rules of all tenants with their sums: what the store tells of accepted profiles, and what callers change.
//!
//! One lock holds everything; it is taken for one profile at a time, for a reader's copy, and for a change in memory,
//! never while something is written. A change is first in memory, unseen, so that no profile is missed, then kept with
//! the catalogue ([`store::Store::change_tally`]), then seen; when keeping fails or its caller goes, it is undone.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use block::DatasetId;
use profile::Tenant;
use query::{Counting, CountingCache};
use store::{Counted, Place, Store, Tally};

use crate::{
    FileRule, MetricSeries, Rule, RuleError, RuleSpec,
    kept::{Kept, KeptRule},
    limits,
    sums::{Added, Sums},
};

/// The rules of all tenants.
#[derive(Default)]
pub struct RuleBook {
    state: Mutex<State>,
}

/// What a caller asks to be made or changed.
#[derive(Clone, Debug, Default)]
pub struct RuleChange {
    /// Which rule; `None` = a new one, known by its content.
    pub id: Option<String>,
    /// What the caller takes the rule to be at; 0 = it does not matter.
    pub generation: i64,
    /// What it is to be.
    pub spec: RuleSpec,
}

/// Figures for the server's own metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleStats {
    /// Rules of all tenants.
    pub rules: u64,
    /// Their groups.
    pub groups: u64,
    /// Values since start that no group was left for.
    pub rest_values: u64,
    /// Profiles since start whose rows could not be read, so that they are not counted.
    pub unreadable: u64,
}

#[derive(Default)]
struct State {
    tenants: BTreeMap<Tenant, TenantRules>,
    groups: usize,
    rest_values: u64,
    unreadable: u64,
}

#[derive(Default)]
struct TenantRules {
    entries: Vec<Entry>,
    /// Asks what the entries count, in their order.
    counting: Arc<Counting>,
    /// By dataset, with its generation.
    caches: HashMap<DatasetId, (u64, CountingCache)>,
}

struct Entry {
    rule: Rule,
    /// Profiles behind this place count.
    since: Place,
    sums: Sums,
    stage: Stage,
}

/// Where an entry is in a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Kept and seen.
    There,
    /// Counts already, is not seen yet.
    Coming,
    /// Is still seen and will be gone.
    Going,
}

impl State {
    fn rules(&self) -> usize {
        self.tenants.values().map(|rules| rules.entries.len()).sum()
    }

    fn count_groups(&mut self) {
        let entries = self.tenants.values().flat_map(|rules| &rules.entries);
        self.groups = entries.map(|entry| entry.sums.groups.len()).sum();
    }

    /// Ends a change: what is at `gone` goes, everything else is there.
    fn settle(&mut self, gone: Stage) {
        for rules in self.tenants.values_mut() {
            let before = rules.entries.len();
            rules.entries.retain(|entry| entry.stage != gone);
            rules.entries.iter_mut().for_each(|entry| entry.stage = Stage::There);
            if rules.entries.len() != before {
                rules.rebuild();
            }
        }
        self.tenants.retain(|_, rules| !rules.entries.is_empty());
        self.count_groups();
    }

    /// Adds an entry that is not seen yet.
    fn add(&mut self, tenant: &Tenant, rule: Rule, since: Place) -> Result<(), RuleError> {
        if self.rules() >= limits::RULES_MAX {
            return Err(RuleError::TooMany { limit: limits::RULES_MAX, of_tenant: false });
        }
        let rules = self.tenants.entry(tenant.clone()).or_default();
        let staying = rules.entries.iter().filter(|entry| entry.stage != Stage::Going).count();
        if staying >= limits::RULES_PER_TENANT_MAX {
            return Err(RuleError::TooMany { limit: limits::RULES_PER_TENANT_MAX, of_tenant: true });
        }
        let sums = Sums::new(&rule);
        rules.entries.push(Entry { rule, since, sums, stage: Stage::Coming });
        rules.rebuild();
        Ok(())
    }

    /// What is to be kept; `up_to` as in [`KeptRule::new`].
    fn kept(&self, left_out: Stage, up_to: Option<u64>) -> Vec<u8> {
        let of_tenant = |(tenant, rules): (&Tenant, &TenantRules)| -> Vec<KeptRule> {
            let staying = rules.entries.iter().filter(|entry| entry.stage != left_out);
            staying.map(|entry| KeptRule::new(tenant, &entry.rule, entry.since, &entry.sums, up_to)).collect()
        };
        Kept::new(self.tenants.iter().flat_map(of_tenant).collect()).to_bytes()
    }
}

impl TenantRules {
    fn rebuild(&mut self) {
        let queries = self.entries.iter().map(|entry| entry.rule.query().clone()).collect();
        self.counting = Arc::new(Counting::new(queries));
        self.caches.clear();
    }

    fn find(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.rule.id == id && entry.stage != Stage::Coming)
    }
}

impl RuleBook {
    /// A book without rules; the store fills it when it opens ([`Store::open_counting`]).
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rules of a tenant, by id.
    #[must_use]
    pub fn list(&self, tenant: &Tenant) -> Vec<Rule> {
        let state = self.state();
        let entries = state.tenants.get(tenant).into_iter().flat_map(|rules| &rules.entries);
        let seen = entries.filter(|entry| entry.stage != Stage::Coming);
        let mut rules: Vec<Rule> = seen.map(|entry| entry.rule.clone()).collect();
        rules.sort_by(|left, right| left.id.cmp(&right.id));
        rules
    }

    /// One rule.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&self, tenant: &Tenant, id: &str) -> Result<Rule, RuleError> {
        let state = self.state();
        let found = state.tenants.get(tenant).and_then(|rules| rules.find(id));
        found.map(|entry| entry.rule.clone()).ok_or_else(|| RuleError::NotFound(id.to_owned()))
    }

    /// Tenants that have rules.
    #[must_use]
    pub fn tenants(&self) -> Vec<Tenant> {
        self.state().tenants.keys().cloned().collect()
    }

    /// The counters of a tenant as they are now, sorted by metric and labels. Call [`Store::count_durable`] before.
    #[must_use]
    pub fn series(&self, tenant: &Tenant) -> Vec<MetricSeries> {
        let state = self.state();
        let entries = state.tenants.get(tenant).into_iter().flat_map(|rules| &rules.entries);
        let seen = entries.filter(|entry| entry.stage != Stage::Coming);
        let mut series: Vec<MetricSeries> = seen.flat_map(|entry| entry.sums.series(&entry.rule)).collect();
        drop(state);
        series.sort_unstable_by(|left, right| {
            (&left.metric, &left.labels).cmp(&(&right.metric, &right.labels))
        });
        series
    }

    /// Figures.
    #[must_use]
    pub fn stats(&self) -> RuleStats {
        let state = self.state();
        RuleStats {
            rules: state.rules() as u64,
            groups: state.groups as u64,
            rest_values: state.rest_values,
            unreadable: state.unreadable,
        }
    }

    /// Makes a rule, or changes the one of an id. A rule of changed content counts anew from here on; one of the same
    /// content stays as it is. The store must be the one that this book was opened with.
    ///
    /// # Errors
    /// See [`RuleError`].
    pub async fn upsert(
        &self,
        store: &Store,
        tenant: &Tenant,
        change: RuleChange,
    ) -> Result<Rule, RuleError> {
        let mut rule = Rule::new(change.spec)?;
        if let Some(id) = change.id {
            check_id(&id)?;
            rule.id = id;
        }
        if let Some(same) = self.unchanged(tenant, &rule, change.generation)? {
            return Ok(same);
        }
        let id = rule.id.clone();
        self.change(store, |state, since| {
            let rules = state.tenants.entry(tenant.clone()).or_default();
            // It may have come or changed since it was looked for above.
            if rules.entries.iter().any(|entry| entry.rule.key() == rule.key()) {
                return Err(same_content(rule.key()));
            }
            if let Some(known) = rules.entries.iter_mut().find(|entry| entry.rule.id == rule.id) {
                check_change(&known.rule, change.generation)?;
                rule.generation = known.rule.generation.saturating_add(1);
                known.stage = Stage::Going;
            }
            state.add(tenant, rule, since)
        })
        .await?;
        self.get(tenant, &id)
    }

    /// The rule that is there already, where nothing would change.
    fn unchanged(&self, tenant: &Tenant, rule: &Rule, generation: i64) -> Result<Option<Rule>, RuleError> {
        let state = self.state();
        let Some(rules) = state.tenants.get(tenant) else { return Ok(None) };
        let Some(known) = rules.entries.iter().find(|entry| entry.rule.key() == rule.key()) else {
            return Ok(None);
        };
        if known.rule.id != rule.id && rule.id != rule.key() {
            return Err(same_content(&known.rule.id));
        }
        if generation != 0 && generation != known.rule.generation {
            check_change(&known.rule, generation)?;
        }
        Ok((known.stage == Stage::There).then(|| known.rule.clone()))
    }

    /// Removes a rule and its counters.
    ///
    /// # Errors
    /// See [`RuleError`].
    pub async fn delete(&self, store: &Store, tenant: &Tenant, id: &str) -> Result<(), RuleError> {
        self.change(store, |state, _| {
            let rules = state.tenants.get_mut(tenant);
            let entry = rules.and_then(|rules| rules.entries.iter_mut().find(|entry| entry.rule.id == id));
            let entry = entry.ok_or_else(|| RuleError::NotFound(id.to_owned()))?;
            if entry.rule.is_provisioned {
                return Err(RuleError::Provisioned(id.to_owned()));
            }
            entry.stage = Stage::Going;
            Ok(())
        })
        .await
    }

    /// Makes the rules that come from a file be these: those that are there already go on counting, those that are
    /// missing begin, those of an earlier file that are not in it any more go.
    ///
    /// # Errors
    /// See [`RuleError`]; nothing is changed then.
    pub async fn provision(&self, store: &Store, wanted: Vec<FileRule>) -> Result<(), RuleError> {
        let is_wanted = |tenant: &Tenant, key: &str| {
            wanted.iter().any(|wanted| wanted.tenant == *tenant && wanted.rule.key() == key)
        };
        let is_there = |tenant: &Tenant, key: &str| {
            let state = self.state();
            let rules = state.tenants.get(tenant);
            rules.is_some_and(|rules| rules.entries.iter().any(|entry| entry.rule.key() == key))
        };
        let is_stale = self.state().tenants.iter().any(|(tenant, rules)| {
            let of_file = rules.entries.iter().filter(|entry| entry.rule.is_provisioned);
            of_file.into_iter().any(|entry| !is_wanted(tenant, entry.rule.key()))
        });
        if !is_stale && wanted.iter().all(|wanted| is_there(&wanted.tenant, wanted.rule.key())) {
            return Ok(());
        }
        self.change(store, |state, since| {
            for (tenant, rules) in &mut state.tenants {
                for entry in rules.entries.iter_mut().filter(|entry| entry.rule.is_provisioned) {
                    if !is_wanted(tenant, entry.rule.key()) {
                        entry.stage = Stage::Going;
                    }
                }
            }
            for FileRule { tenant, rule } in &wanted {
                let known = state.tenants.get(tenant).into_iter().flat_map(|rules| &rules.entries);
                if known.into_iter().any(|entry| entry.rule.key() == rule.key()) {
                    continue;
                }
                let mut rule = rule.clone();
                rule.is_provisioned = true;
                state.add(tenant, rule, since)?;
            }
            Ok(())
        })
        .await
    }

    /// Makes a change in memory, keeps it, and lets it be seen.
    async fn change(
        &self,
        store: &Store,
        change: impl FnOnce(&mut State, Place) -> Result<(), RuleError>,
    ) -> Result<(), RuleError> {
        let undo = Undo { book: self, is_needed: AtomicBool::new(false) };
        let make = |since| {
            undo.is_needed.store(true, Ordering::Relaxed);
            let mut state = self.state();
            change(&mut state, since)?;
            Ok::<_, RuleError>(state.kept(Stage::Going, None))
        };
        let settle = || {
            undo.is_needed.store(false, Ordering::Relaxed);
            self.state().settle(Stage::Going);
        };
        store.change_tally(make, settle).await
    }
}

/// Takes a change back that was not kept, also when the caller has gone.
struct Undo<'a> {
    book: &'a RuleBook,
    is_needed: AtomicBool,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if self.is_needed.load(Ordering::Relaxed) {
            self.book.state().settle(Stage::Coming);
        }
    }
}

fn check_id(id: &str) -> Result<(), RuleError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if id.is_empty() || id.len() > limits::ID_BYTES_MAX || !id.bytes().all(plain) {
        let reason = format!("is not 1 to {} letters, digits, - and _", limits::ID_BYTES_MAX);
        return Err(RuleError::invalid("id", reason));
    }
    Ok(())
}

fn check_change(known: &Rule, generation: i64) -> Result<(), RuleError> {
    if known.is_provisioned {
        return Err(RuleError::Provisioned(known.id.clone()));
    }
    if generation != 0 && generation != known.generation {
        let (id, current) = (known.id.clone(), known.generation);
        return Err(RuleError::Changed { id, current, asked: generation });
    }
    Ok(())
}

fn same_content(id: &str) -> RuleError {
    RuleError::invalid("id", format!("rule {id:?} counts the same already"))
}

impl Tally for RuleBook {
    fn restore(&self, kept: Option<&[u8]>) -> Result<(), String> {
        let Some(kept) = kept else { return Ok(()) };
        let mut state = self.state();
        for kept in Kept::read(kept)?.rules {
            let (tenant, rule, since, sums) = kept.into_parts()?;
            let rules = state.tenants.entry(tenant).or_default();
            rules.entries.push(Entry { rule, since, sums, stage: Stage::There });
        }
        state.tenants.values_mut().for_each(TenantRules::rebuild);
        state.count_groups();
        Ok(())
    }

    fn last_sequence(&self) -> u64 {
        let state = self.state();
        let entries = state.tenants.values().flat_map(|rules| &rules.entries);
        entries.map(|entry| entry.since.sequence).max().unwrap_or(0)
    }

    fn wants(&self, tenant: Option<&Tenant>) -> bool {
        let state = self.state();
        tenant.map_or(!state.tenants.is_empty(), |tenant| state.tenants.contains_key(tenant))
    }

    fn count(&self, profile: Counted<'_>) {
        let mut state = self.state();
        let State { tenants, groups, rest_values, unreadable } = &mut *state;
        let Some(rules) = tenants.get_mut(profile.tenant) else { return };
        let TenantRules { entries, counting, caches } = rules;
        let generation = profile.place.generation;
        let (_, cache) =
            caches.entry(profile.dataset.id()).or_insert_with(|| (generation, CountingCache::default()));
        let since: Vec<Place> = entries.iter().map(|entry| entry.since).collect();
        let is_wanted = |query: usize| profile.place > since[query];
        let counted =
            counting.count(cache, profile.dataset, profile.profile, is_wanted, |query, group, value| {
                let is_full = *groups >= limits::GROUPS_MAX;
                match entries[query].sums.add(generation, group, value, is_full) {
                    Added::Known => {}
                    Added::NewGroup => *groups += 1,
                    Added::Rest => *rest_values += 1,
                }
            });
        if let Err(error) = counted {
            tracing::error!(%error, "a profile cannot be counted by rules");
            *unreadable += 1;
        }
    }

    fn keep(&self, generation: u64) -> Option<Vec<u8>> {
        let state = self.state();
        let mut entries = state.tenants.values().flat_map(|rules| &rules.entries);
        let has_news = entries.any(|entry| entry.sums.has_pending(generation));
        has_news.then(|| state.kept(Stage::Coming, Some(generation)))
    }

    fn kept(&self, generation: u64) {
        for rules in self.state().tenants.values_mut() {
            rules.entries.iter_mut().for_each(|entry| entry.sums.finish(generation));
            rules.caches.retain(|_, (of, _)| *of > generation);
        }
    }
}
