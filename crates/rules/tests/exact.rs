//! A counter is the sum over all accepted profiles since its rule was made, each once, whatever happens between.

#![allow(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use formats::{Decoder, Limits, Measure};
use profile::{LabelSet, ProfileId, Temporality, Tenant, TimeRange, Timestamp};
use rules::{RuleBook, RuleChange, RuleError, RuleSpec};
use store::{Accepted, NewProfile, Outcome, Store, StoreError, StoreOptions};
use testkit::{ForgetfulDisk, Random};

/// Folded text has no period.
const TYPE: &str = "process_cpu:cpu:nanoseconds::";

fn options() -> StoreOptions {
    StoreOptions::by_hand("unused")
}

/// What push `number` is: service, pod, value of `work` and of the function that depends on the number.
struct Sent {
    service: &'static str,
    pod: Option<String>,
    function: String,
    value: i64,
}

impl Sent {
    fn new(number: u64) -> Self {
        Self {
            service: ["a", "b", "c"][usize::try_from(number % 3).unwrap()],
            pod: (!number.is_multiple_of(4)).then(|| format!("pod-{}", number % 5)),
            function: format!("f{}", number % 7),
            value: i64::try_from(1 + number % 1000).unwrap(),
        }
    }
}

fn push(store: &Store, number: u64) -> Result<Accepted, store::PushError> {
    let sent = Sent::new(number);
    let body = format!("main;work 2\nmain;work;{} {}\n", sent.function, sent.value);
    let mut decoder = Decoder::new();
    let (profile, _) =
        decoder.folded(body.as_bytes(), Measure::plain("cpu", "nanoseconds"), &Limits::default()).unwrap();
    let pod = sent.pod.as_deref().map(|pod| ("pod", pod));
    let digest = number.to_le_bytes();
    store.push(&NewProfile {
        tenant: &Tenant::anonymous(),
        labels: LabelSet::from_pairs([("service_name", sent.service)].into_iter().chain(pod)).unwrap(),
        name: "process_cpu",
        temporality: Temporality::Delta,
        profile,
        digest_bytes: &digest,
        time: Timestamp(
            1_750_000_000_000_000_000
                + i64::try_from(number).unwrap() * 40_000_000_000_000 % 172_800_000_000_000,
        ),
        time_is_stated: true,
        id: None,
    })
}

/// The questions that tests choose from.
fn spec(choice: usize) -> RuleSpec {
    let (matchers, group_by, function): (&str, &[&str], Option<&str>) = match choice % 6 {
        0 => ("", &[], None),
        1 => ("", &["service_name"], None),
        2 => ("service_name=~\"a|b\"", &["pod", "service_name"], None),
        3 => ("", &[], Some("f3")),
        4 => ("pod!=\"pod-1\"", &["service_name"], Some("work")),
        _ => ("service_name=\"c\",pod=\"\"", &[], None),
    };
    RuleSpec {
        metric: format!("m{choice}"),
        selectors: vec![format!("{TYPE}{{{matchers}}}")],
        group_by: group_by.iter().map(|name| (*name).to_owned()).collect(),
        function: function.map(ToOwned::to_owned),
        labels: BTreeMap::new(),
    }
}

/// What a push adds to the group of a rule.
fn expected(choice: usize, number: u64) -> Option<(Vec<(String, String)>, i128)> {
    let Sent { service, pod, function, value } = Sent::new(number);
    let value = i128::from(value);
    let own = ("service_name".to_owned(), service.to_owned());
    let of_pod = pod.clone().map(|pod| ("pod".to_owned(), pod));
    match choice % 6 {
        0 => Some((vec![], value + 2)),
        1 => Some((vec![own], value + 2)),
        2 => (service != "c").then(|| (of_pod.into_iter().chain([own]).collect(), value + 2)),
        3 => Some((vec![], if function == "f3" { value } else { 0 })),
        4 => (pod.as_deref() != Some("pod-1")).then(|| (vec![own], value + 2)),
        _ => (service == "c" && pod.is_none()).then(|| (vec![], value + 2)),
    }
}

type Values = BTreeMap<(String, Vec<(String, String)>), i128>;

/// All counters by metric and labels of their groups.
fn seen(book: &RuleBook) -> Values {
    let series = book.series(&Tenant::anonymous()).into_iter();
    series
        .map(|mut one| {
            one.labels.retain(|(name, _)| name != rules::RULE_LABEL);
            ((one.metric, one.labels), one.value)
        })
        .collect()
}

/// Pushes in their order and rules with the push that each begins with.
#[derive(Default)]
struct Oracle {
    /// Order and number of each push by id.
    sent: Mutex<BTreeMap<ProfileId, (u64, u64)>>,
    order: AtomicU64,
    /// What the store was seen to hold.
    found: Mutex<BTreeSet<ProfileId>>,
    /// Choice and order.
    rules: BTreeMap<usize, u64>,
    /// Of these it is not known whether they were kept, or, where they are in `rules`, removed.
    doubtful: BTreeMap<usize, u64>,
    /// What was seen last.
    last: Values,
}

impl Oracle {
    async fn push(&self, store: &Store, number: u64) -> bool {
        let order = self.order.fetch_add(1, Ordering::Relaxed);
        let Ok(accepted) = push(store, number) else { return false };
        if accepted.outcome == Outcome::Stored {
            // One that was lost before it was acknowledged may come anew, and then counts where it comes; one that a start
            // has found counts where it was.
            if !self.found.lock().unwrap().contains(&accepted.id) {
                self.sent.lock().unwrap().insert(accepted.id, (order, number));
            }
        }
        store.durable(accepted.ticket).await.is_ok()
    }

    /// What the store holds gives what the counters must be.
    fn values(&self, store: &Store) -> Values {
        let mut found = BTreeSet::new();
        for dataset in store.view(&Tenant::anonymous(), TimeRange::ALL).datasets {
            for profile in 0..dataset.profile_count() {
                assert!(found.insert(dataset.profile(profile).id), "a profile comes twice");
            }
        }
        self.found.lock().unwrap().extend(&found);
        let sent = self.sent.lock().unwrap();
        let mut values = Values::new();
        for (&choice, &since) in &self.rules {
            let metric = format!("m{choice}");
            if spec(choice).group_by.is_empty() {
                values.insert((metric.clone(), vec![]), 0);
            }
            for (order, number) in found.iter().map(|id| sent[id]).filter(|(order, _)| *order >= since) {
                assert!(order < self.order.load(Ordering::Relaxed));
                if let Some((group, value)) = expected(choice, number) {
                    *values.entry((metric.clone(), group)).or_default() += value;
                }
            }
        }
        values
    }

    /// After a start: settles what is doubtful, and compares.
    fn check_start(&mut self, store: &Store, book: &RuleBook) {
        let listed: BTreeSet<String> =
            book.list(&Tenant::anonymous()).iter().map(|rule| rule.spec().metric.clone()).collect();
        for (choice, since) in std::mem::take(&mut self.doubtful) {
            if listed.contains(&format!("m{choice}")) {
                self.rules.entry(choice).or_insert(since);
            } else {
                self.rules.remove(&choice);
            }
        }
        self.check(store, book);
    }

    fn check(&mut self, store: &Store, book: &RuleBook) {
        store.count_durable();
        let now = seen(book);
        assert_eq!(now, self.values(store));
        self.look(book);
    }

    /// No counter has fallen since it was seen last.
    fn look(&mut self, book: &RuleBook) {
        let now = seen(book);
        for (key, value) in &self.last {
            let is_there = self.rules.keys().any(|choice| format!("m{choice}") == key.0)
                && !self.doubtful.keys().any(|choice| format!("m{choice}") == key.0);
            assert!(
                !is_there || now.get(key) >= Some(value),
                "{key:?} fell from {value} to {:?}",
                now.get(key)
            );
        }
        self.last = now;
    }

    async fn change_rules(&mut self, store: &Store, book: &RuleBook, random: &mut Random) {
        let choice = random.below(12);
        let since = self.order.load(Ordering::Relaxed);
        let tenant = Tenant::anonymous();
        if let Some(&since) = self.rules.get(&choice) {
            let id = rules::Rule::new(spec(choice)).unwrap().id;
            match book.delete(store, &tenant, &id).await {
                Ok(()) => drop(self.rules.remove(&choice)),
                Err(RuleError::Store(_)) => drop(self.doubtful.insert(choice, since)),
                Err(other) => panic!("{other}"),
            }
        } else {
            match book
                .upsert(store, &tenant, RuleChange { spec: spec(choice), ..RuleChange::default() })
                .await
            {
                Ok(_) => drop(self.rules.insert(choice, since)),
                Err(RuleError::Store(_)) => drop(self.doubtful.insert(choice, since)),
                Err(other) => panic!("{other}"),
            }
        }
        // A counter that begins anew may be smaller than the one of that name before.
        self.last.retain(|key, _| key.0 != format!("m{choice}"));
    }
}

async fn open(disk: &ForgetfulDisk) -> Result<(Arc<Store>, Arc<RuleBook>), StoreError> {
    let book = RuleBook::new();
    let store =
        Store::open_counting_on(Arc::new(disk.until_crash()), options(), Arc::clone(&book) as Arc<_>).await?;
    Ok((store, book))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_survive_sixty_power_cuts_at_any_step() {
    let disk = ForgetfulDisk::new();
    let mut random = Random::new(7, 0);
    let mut oracle = Oracle::default();
    let mut next = 0;
    for cycle in 0..60 {
        if random.below(4) == 0 {
            disk.stop_after(random.below(60) as u64);
            if let Ok((store, _)) = open(&disk).await {
                let _ = store.flush().await;
                drop(store);
            }
            disk.crash_with_seed(random.next_u64());
        }
        let (store, book) = open(&disk).await.unwrap();
        oracle.check_start(&store, &book);
        disk.stop_after(20 + random.below(if cycle % 2 == 0 { 60 } else { 300 }) as u64);
        for _ in 0..80 {
            let alive = match random.below(10) {
                0 => store.flush().await.is_ok(),
                1 => {
                    oracle.change_rules(&store, &book, &mut random).await;
                    oracle.doubtful.is_empty()
                }
                2 if next > 0 => {
                    oracle.push(&store, random.below(usize::try_from(next).unwrap()) as u64).await
                }
                3 => {
                    store.count_durable();
                    oracle.look(&book);
                    true
                }
                _ => {
                    next += 1;
                    oracle.push(&store, next).await
                }
            };
            if !alive {
                break;
            }
        }
        drop(store);
        disk.crash_with_seed(random.next_u64());
    }
    let (store, book) = open(&disk).await.unwrap();
    oracle.check_start(&store, &book);
    store.flush().await.unwrap();
    oracle.check(&store, &book);
    assert!(next > 300 && !oracle.rules.is_empty(), "{next} pushes; the cycles are too short");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pushes_flushes_scrapes_and_new_rules_at_once_lose_and_double_nothing() {
    let disk = ForgetfulDisk::new();
    let (store, book) = open(&disk).await.unwrap();
    let mut oracle = Oracle::default();
    for choice in 0..6 {
        let change = RuleChange { spec: spec(choice), ..RuleChange::default() };
        book.upsert(&store, &Tenant::anonymous(), change).await.unwrap();
        oracle.rules.insert(choice, 0);
    }
    let (done, shared) = (Arc::new(AtomicBool::new(false)), Arc::new(oracle));
    let beside = tokio::spawn({
        let (store, book, done) = (Arc::clone(&store), Arc::clone(&book), Arc::clone(&done));
        async move {
            let mut choice = 6;
            while !done.load(Ordering::Relaxed) {
                store.flush().await.unwrap();
                // Its sums depend on when it came; that it comes and goes must not disturb the others.
                let change = RuleChange { spec: spec(choice), ..RuleChange::default() };
                let rule = book.upsert(&store, &Tenant::anonymous(), change).await.unwrap();
                store.count_durable();
                book.delete(&store, &Tenant::anonymous(), &rule.id).await.unwrap();
                choice += 1;
            }
        }
    });
    let pushers = (0..4u64).map(|pusher| {
        let (store, oracle) = (Arc::clone(&store), Arc::clone(&shared));
        tokio::spawn(async move {
            for number in 0..250 {
                // Every second one is pushed by two.
                assert!(oracle.push(&store, number * 4 + (pusher & !(number & 1))).await);
            }
        })
    });
    for pusher in pushers.collect::<Vec<_>>() {
        pusher.await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    beside.await.unwrap();
    let mut oracle = Arc::into_inner(shared).unwrap();
    oracle.check(&store, &book);
    drop(store);
    disk.crash();
    let (store, book) = open(&disk).await.unwrap();
    oracle.check_start(&store, &book);
}

#[tokio::test]
async fn a_damaged_state_is_an_error_that_names_the_file_and_a_missing_one_begins_anew() {
    let disk = ForgetfulDisk::new();
    let (store, book) = open(&disk).await.unwrap();
    let tenant = Tenant::anonymous();
    book.upsert(&store, &tenant, RuleChange { spec: spec(0), ..RuleChange::default() }).await.unwrap();
    store.durable(push(&store, 1).unwrap().ticket).await.unwrap();
    store.flush().await.unwrap();
    drop(store);
    disk.crash();
    let name = disk.file_names().into_iter().find(|name| name.starts_with("tally/")).unwrap();
    disk.damage(&name, |bytes| *bytes.last_mut().unwrap() ^= 1).unwrap();
    let error = open(&disk).await.err().unwrap().to_string();
    assert!(error.contains(&name) && error.contains("remove the file"), "{error}");
    store::disk::Disk::remove(&disk, &name).unwrap();
    let (_store, book) = open(&disk).await.unwrap();
    assert!(book.list(&tenant).is_empty());
}

#[tokio::test]
async fn changes_follow_ids_generations_and_limits() {
    let disk = ForgetfulDisk::new();
    let (store, book) = open(&disk).await.unwrap();
    let tenant = Tenant::anonymous();
    let make = |id: Option<&str>, generation, choice| {
        let change = RuleChange { id: id.map(ToOwned::to_owned), generation, spec: spec(choice) };
        book.upsert(&store, &tenant, change)
    };
    let first = make(Some("mine"), 0, 0).await.unwrap();
    assert_eq!((first.id.as_str(), first.generation), ("mine", 1));
    assert_eq!(make(Some("mine"), 1, 0).await.unwrap().generation, 1, "nothing has changed");
    assert_eq!(make(None, 0, 0).await.unwrap().id, "mine", "the same content is the same rule");
    assert!(matches!(make(Some("other"), 0, 0).await, Err(RuleError::Invalid { .. })));
    store.durable(push(&store, 1).unwrap().ticket).await.unwrap();
    let second = make(Some("mine"), 1, 1).await.unwrap();
    assert_eq!((second.generation, second.key() == first.key()), (2, false));
    assert!(matches!(make(Some("mine"), 1, 2).await, Err(RuleError::Changed { current: 2, asked: 1, .. })));
    store.count_durable();
    assert!(seen(&book).is_empty(), "it counts from its change on");
    for id in ["", "a b", "../x", &"x".repeat(65)] {
        assert!(matches!(make(Some(id), 0, 3).await, Err(RuleError::Invalid { .. })), "{id:?}");
    }
    assert!(matches!(book.delete(&store, &tenant, "none").await, Err(RuleError::NotFound(_))));
    for choice in 2..=rules::limits::RULES_PER_TENANT_MAX {
        make(None, 0, choice).await.unwrap();
    }
    assert!(matches!(make(None, 0, 200).await, Err(RuleError::TooMany { of_tenant: true, .. })));
    book.delete(&store, &tenant, "mine").await.unwrap();
    make(None, 0, 200).await.unwrap();
    assert_eq!(book.list(&Tenant::parse("other").unwrap()).len(), 0);
}

#[tokio::test]
async fn rules_of_a_file_go_on_counting_and_go_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    let write = |choices: &[usize]| {
        let rule = |&choice: &usize| {
            let spec = spec(choice);
            format!(
                "[[rule]]\nmetric={:?}\nselector='{}'\ngroup_by={:?}\n",
                spec.metric, spec.selectors[0], spec.group_by
            )
        };
        std::fs::write(&path, choices.iter().map(rule).collect::<String>()).unwrap();
        rules::read_file(&path).unwrap()
    };
    let disk = ForgetfulDisk::new();
    let tenant = Tenant::anonymous();
    let (store, book) = open(&disk).await.unwrap();
    book.provision(&store, write(&[0, 1])).await.unwrap();
    let own =
        book.upsert(&store, &tenant, RuleChange { spec: spec(6), ..RuleChange::default() }).await.unwrap();
    store.durable(push(&store, 1).unwrap().ticket).await.unwrap();
    let of_file = book.list(&tenant).into_iter().find(|rule| rule.spec().metric == "m0").unwrap();
    assert!(matches!(book.delete(&store, &tenant, &of_file.id).await, Err(RuleError::Provisioned(_))));
    drop(store);
    disk.crash();
    let (store, book) = open(&disk).await.unwrap();
    book.provision(&store, write(&[0, 12])).await.unwrap();
    store.durable(push(&store, 2).unwrap().ticket).await.unwrap();
    store.count_durable();
    let values = seen(&book);
    let value = |metric: &str| values.get(&(metric.to_owned(), vec![])).copied();
    let total =
        |numbers: &[u64]| Some(numbers.iter().map(|&number| expected(0, number).unwrap().1).sum::<i128>());
    assert_eq!(value("m0"), total(&[1, 2]), "went on");
    assert_eq!(value("m12"), total(&[2]), "begins");
    assert_eq!(value("m6"), total(&[1, 2]), "is none of the file's");
    assert!(values.keys().all(|(metric, _)| metric != "m1"), "is not in the file any more");
    assert_eq!(book.list(&tenant).iter().filter(|rule| rule.is_provisioned).count(), 2);
    assert!(!book.get(&tenant, &own.id).unwrap().is_provisioned);
    assert!(rules::read_file(&folder.path().join("none")).unwrap_err().contains("none"));
}
