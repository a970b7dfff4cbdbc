//! Uploads that are kept whole: a list, and one run of all their bytes.

use profile::{LabelSet, ProfileId, Timestamp};

use crate::{
    AttachmentPart, BlockAttachment, BlockError,
    cursor::{Cursor, Malformed, put_bytes, put_signed, put_varint},
    section::{Packing, Section, SectionKind},
};

/// Writes list and bodies, sorted by time and id.
pub(crate) fn put_attachments(
    attachments: &[AttachmentPart<'_>],
    packing: &mut Packing,
    out: &mut Vec<u8>,
) -> Result<[Section; 2], BlockError> {
    let mut sorted: Vec<&AttachmentPart<'_>> = attachments.iter().collect();
    sorted.sort_by_key(|attachment| (attachment.time, attachment.id));
    let mut list = Vec::new();
    let mut bodies = Vec::new();
    put_varint(&mut list, sorted.len() as u64);
    for attachment in sorted {
        list.extend_from_slice(&attachment.id.0.to_le_bytes());
        put_signed(&mut list, attachment.time.0);
        put_bytes(&mut list, attachment.kind.as_bytes());
        put_varint(&mut list, attachment.labels.len() as u64);
        for (name, value) in attachment.labels.iter() {
            put_bytes(&mut list, name.as_bytes());
            put_bytes(&mut list, value.as_bytes());
        }
        put_varint(&mut list, attachment.body.len() as u64);
        bodies.extend_from_slice(attachment.body);
    }
    let list = Section::write(SectionKind::Attachments, &list, Some(&mut *packing), out)?;
    let bodies = Section::write(SectionKind::AttachmentBodies, &bodies, Some(packing), out)?;
    Ok([list, bodies])
}

/// Reads the list; each attachment with the place of its body.
pub(crate) fn read_attachments(bytes: &[u8]) -> Result<Vec<(BlockAttachment, u64)>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut attachments = Vec::new();
    let mut offset = 0_u64;
    for _ in 0..cursor.count(20)? {
        let id = ProfileId(u128::from_le_bytes(cursor.array()?));
        let time = Timestamp(cursor.signed()?);
        let kind = cursor.text()?.to_owned();
        let pairs = (0..cursor.count(2)?).map(|_| Ok((cursor.text()?, cursor.text()?)));
        let pairs = pairs.collect::<Result<Vec<_>, Malformed>>()?;
        let labels = LabelSet::from_pairs(pairs).map_err(|_| Malformed("labels cannot be"))?;
        let length = cursor.varint()?;
        attachments.push((BlockAttachment { id, labels, kind, time, length }, offset));
        offset = offset.checked_add(length).ok_or(Malformed("bodies are too long"))?;
    }
    cursor.finish()?;
    Ok(attachments)
}
