//! Bodies that are kept as examples, so that whoever asks why can try the profile itself.

use std::collections::VecDeque;

use bytes::Bytes;
use profile::Tenant;

use crate::limits;

/// Whether a body can be an example.
pub(crate) fn may_keep(body: &[u8]) -> bool {
    (1..=limits::EXPLAINED_BODY_BYTES_MAX).contains(&body.len())
}

/// Bodies of all tenants, the oldest first, within a number of bytes.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    /// Ids grow.
    kept: VecDeque<(u64, Tenant, Bytes)>,
    bytes: usize,
    id_last: u64,
}

impl Bodies {
    /// Keeps a body; `None` where it is too large. It is copied, because it may be a small part of a large request.
    pub fn keep(&mut self, tenant: &Tenant, body: &[u8]) -> Option<u64> {
        if !may_keep(body) {
            return None;
        }
        self.bytes += body.len();
        while self.bytes > limits::EXPLAINED_BODIES_BYTES_MAX {
            let Some((_, _, oldest)) = self.kept.pop_front() else { break };
            self.bytes -= oldest.len();
        }
        self.id_last += 1;
        self.kept.push_back((self.id_last, tenant.clone(), Bytes::copy_from_slice(body)));
        Some(self.id_last)
    }

    /// A body, if it is this tenant's and still kept.
    pub fn get(&self, id: u64, tenant: &Tenant) -> Option<&Bytes> {
        let place = self.kept.binary_search_by_key(&id, |(id, _, _)| *id).ok()?;
        self.kept.get(place).filter(|(_, owner, _)| owner == tenant).map(|(_, _, body)| body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_and_nobody_gets_anothers() {
        let (a, b) = (Tenant::parse("a").unwrap(), Tenant::parse("b").unwrap());
        let mut bodies = Bodies::default();
        let first = bodies.keep(&a, b"first").unwrap();
        assert_eq!(bodies.get(first, &a).map(|body| &body[..]), Some(&b"first"[..]));
        assert_eq!(bodies.get(first, &b), None);
        assert_eq!(bodies.keep(&a, &vec![0; limits::EXPLAINED_BODY_BYTES_MAX + 1]), None);
        assert_eq!(bodies.keep(&a, b""), None);
        let large = vec![1; limits::EXPLAINED_BODY_BYTES_MAX];
        let mut last = first;
        for _ in 0..limits::EXPLAINED_BODIES_BYTES_MAX / limits::EXPLAINED_BODY_BYTES_MAX {
            last = bodies.keep(&b, &large).unwrap();
        }
        assert_eq!(bodies.get(first, &a), None);
        assert!(bodies.get(last, &b).is_some());
        assert!(bodies.bytes <= limits::EXPLAINED_BODIES_BYTES_MAX);
        assert_eq!(bodies.bytes, bodies.kept.iter().map(|(_, _, body)| body.len()).sum::<usize>());
    }
}
