//! Which id a push gets (D2).

use profile::{LabelSet, ProfileId, Tenant, Timestamp};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::NewProfile;

/// Bits of the digest that an id keeps.
const DIGEST_MASK: u128 = (1 << 80) - 1;

/// The id of a profile: milliseconds of its time and a digest of tenant, labels, name and inflated body.
pub(crate) fn profile_id(new: &NewProfile<'_>) -> ProfileId {
    with_time(new.time, digest(new.tenant, &new.labels, new.name, new.digest_bytes))
}

/// Joins a time and a digest.
pub(crate) fn with_time(time: Timestamp, digest: u128) -> ProfileId {
    ProfileId::new(time.millis().max(0).cast_unsigned(), digest & DIGEST_MASK)
}

/// 80 bits over everything that makes a push what it is. Ids on disk depend on it: never change it.
pub(crate) fn digest(tenant: &Tenant, labels: &LabelSet, name: &str, body: &[u8]) -> u128 {
    let mut hasher = Xxh3::new();
    // Lengths before texts, so that no two different lists run together to the same bytes.
    let mut add = |text: &[u8]| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    add(tenant.as_str().as_bytes());
    add(name.as_bytes());
    for (label, value) in labels.iter() {
        add(label.as_bytes());
        add(value.as_bytes());
    }
    add(&xxh3_128(body).to_le_bytes());
    hasher.digest128() & DIGEST_MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_a_push_never_changes() {
        let labels = LabelSet::from_pairs([("service_name", "a"), ("pod", "b")]).unwrap();
        let known = digest(&Tenant::anonymous(), &labels, "cpu", b"body");
        assert_eq!(known, digest(&Tenant::anonymous(), &labels.clone(), "cpu", b"body"));
        assert_ne!(known, digest(&Tenant::anonymous(), &labels, "cpv", b"body"));
        assert_ne!(known, digest(&Tenant::parse("x").unwrap(), &labels, "cpu", b"body"));
        assert_ne!(known, digest(&Tenant::anonymous(), &LabelSet::default(), "cpu", b"body"));
    }
}
