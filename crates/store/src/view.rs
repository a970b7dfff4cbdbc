//! What queries get: a tenant's heads and blocks at one instant.

use std::sync::Arc;

use block::{BlockError, Dataset};
use profile::{ProfileId, Tenant, TimeRange, Timestamp};

use crate::{Attachment, StoreError, blocks::HeardDataset, store::Shared};

/// A tenant's data at one instant.
#[derive(Clone)]
pub struct View {
    /// Heads and block datasets that touch the range; each profile is in exactly one.
    pub datasets: Vec<Arc<dyn Dataset>>,
    /// Blocks of the range that could not be read: an answer without them is not whole.
    pub unreadable: Vec<BlockError>,
}

impl Shared {
    /// See [`crate::Store::view`].
    pub(crate) fn view(&self, tenant: &Tenant, range: TimeRange) -> View {
        let published = self.published();
        let mut view = View { datasets: Vec::new(), unreadable: Vec::new() };
        for open in published.blocks.iter().filter(|open| open.entry.touches(tenant, range)) {
            match self.cache.datasets(open, range) {
                Ok(datasets) => {
                    let heard = datasets.into_iter().map(|dataset| HeardDataset::new(open, dataset));
                    view.datasets.extend(heard.map(|dataset| Arc::new(dataset) as Arc<dyn Dataset>));
                }
                // A view of a moment later would not have it either.
                Err(BlockError::Dropped { .. }) => {}
                Err(error) => {
                    view.unreadable.push(error);
                }
            }
        }
        for generation in published.sealed.iter().chain([&published.live]) {
            view.datasets.extend(generation.datasets(tenant));
        }
        view
    }

    /// See [`crate::Store::time_bounds`].
    pub(crate) fn time_bounds(&self, tenant: &Tenant) -> Option<(Timestamp, Timestamp)> {
        let published = self.published();
        let blocks = published.blocks.iter().filter(|open| open.entry.touches(tenant, TimeRange::ALL));
        let of_blocks =
            blocks.map(|open| (Timestamp(open.entry.time_first), Timestamp(open.entry.time_last)));
        let generations = published.sealed.iter().chain([&published.live]);
        let of_heads = generations.flat_map(|generation| generation.datasets(tenant)).flat_map(|head| {
            let times: Vec<Timestamp> = (0..head.profile_count()).map(|at| head.profile(at).time).collect();
            times.into_iter().map(|time| (time, time))
        });
        of_blocks.chain(of_heads).reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
    }

    /// See [`crate::Store::attachments`].
    pub(crate) fn attachments(
        &self,
        tenant: &Tenant,
        range: TimeRange,
    ) -> Result<Vec<Attachment>, StoreError> {
        let published = self.published();
        let mut found = Vec::new();
        for open in published.blocks.iter().filter(|open| open.entry.touches(tenant, range)) {
            let attachments = open.block()?.attachments().map_err(|error| open.unreadable(error))?;
            found.extend(attachments.into_iter().map(|attachment| Attachment {
                id: attachment.id,
                labels: attachment.labels,
                kind: attachment.kind,
                time: attachment.time,
                length: attachment.length,
            }));
        }
        for generation in published.sealed.iter().chain([&published.live]) {
            for partition in generation.partitions_of(tenant) {
                found.extend(partition.tables().attachments.iter().map(|attachment| Attachment {
                    id: attachment.id,
                    labels: attachment.labels.clone(),
                    kind: attachment.kind.clone(),
                    time: attachment.time,
                    length: attachment.body.len() as u64,
                }));
            }
        }
        found.retain(|attachment| range.contains(attachment.time));
        found.sort_by_key(|attachment| (attachment.time, attachment.id));
        Ok(found)
    }

    /// See [`crate::Store::attachment_body`].
    pub(crate) fn attachment_body(
        &self,
        tenant: &Tenant,
        id: ProfileId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let published = self.published();
        for generation in published.sealed.iter().chain([&published.live]) {
            for partition in generation.partitions_of(tenant) {
                let found = partition.tables().attachments.iter().find(|attachment| attachment.id == id);
                if let Some(attachment) = found {
                    return Ok(Some(attachment.body.to_vec()));
                }
            }
        }
        for open in published.blocks.iter().filter(|open| open.entry.tenant == tenant.as_str()) {
            if let Some(body) = open.block()?.attachment_body(id).map_err(|error| open.unreadable(error))? {
                return Ok(Some(body));
            }
        }
        Ok(None)
    }
}
