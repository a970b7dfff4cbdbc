//! Damaged files: every cut and every flipped bit is noticed, and no bytes at all make a reader panic or grow (R1, D20).
//!
//! Random damage mostly dies at the first checksum. To get behind it, the second fuzz body damages a section's decoded
//! bytes, or the footer, and seals the file again with right checksums.
#![allow(unsafe_code, reason = "a counting allocator has to forward to the system's")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use profile::{LabelSet, ProfileId, Tenant, Timestamp};

use crate::{
    AttachmentPart, Block, BlockError, BlockInput, Dataset, DatasetPart, MemoryFile, NONE, NodeSums, Pick,
    ReadAt, Rows,
    footer::Footer,
    section::{Packing, Section, SectionKind},
    support::{NOON, Random, varied_dataset},
    write_block,
};

/// Counts what this thread holds. What another thread frees for it counts as held, which no test here does.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    HELD.with(|held| {
        held.set(held.get() + bytes);
        PEAK.with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that `work` holds at most, beside what was held before.
fn peak_of(work: impl FnOnce()) -> usize {
    let before = HELD.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    work();
    PEAK.with(Cell::get).saturating_sub(before).try_into().unwrap_or(0)
}

/// A file that counts the bytes read from it.
struct CountingFile {
    file: MemoryFile,
    read: AtomicU64,
}

impl ReadAt for CountingFile {
    fn name(&self) -> &str {
        self.file.name()
    }
    fn length(&self) -> u64 {
        self.file.length()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.file.read_at(offset, buffer)
    }
}

fn block_bytes() -> Vec<u8> {
    let (first, second) = (varied_dataset(11, 3), varied_dataset(12, 1));
    let labels = LabelSet::from_pairs([("service_name", "app")]).unwrap();
    let attachment = AttachmentPart {
        id: ProfileId(77),
        labels,
        kind: "trace",
        time: Timestamp(NOON),
        body: b"some bytes of a trace",
    };
    let part = |dataset| DatasetPart { dataset, profiles: (0..Dataset::profile_count(dataset)).collect() };
    let input = BlockInput {
        tenant: &Tenant::anonymous(),
        datasets: vec![part(&first), part(&second)],
        attachments: vec![attachment],
        arrived: Timestamp(NOON),
    };
    let mut bytes = Vec::new();
    write_block(&input, &mut bytes).unwrap();
    bytes
}

/// The fuzz body: reads everything that a file offers.
fn read_everything(source: Arc<dyn ReadAt>) -> Result<(), BlockError> {
    let block = Block::open(source)?;
    block.contains(ProfileId(77))?;
    block.contains(ProfileId(78))?;
    for attachment in block.attachments()? {
        block.attachment_body(attachment.id)?;
    }
    for position in 0..block.dataset_count() {
        let dataset = block.dataset(position)?;
        let symbols = dataset.symbols()?;
        for id in 0..symbols.node_count() {
            let node = symbols.node(id);
            assert!(node.parent == NONE || node.parent < id);
            let location = symbols.location(node.location);
            for line in 0..location.lines_length {
                let function = symbols.function(symbols.line(location.lines_start + line).function);
                symbols.string(function.name);
            }
        }
        for id in 0..symbols.function_node_count() {
            symbols.frame(symbols.function_node(id).frame);
        }
        for id in 0..symbols.label_set_count() {
            symbols.label_set(id);
        }
        let mut sums = NodeSums::new(symbols.node_count(), None);
        let mut rows = Rows::default();
        for profile in 0..dataset.profile_count() {
            let meta = dataset.profile(profile);
            symbols.header(meta.header);
            dataset.series(meta.series);
            dataset.rows(profile, &mut rows)?;
            for &label_set in &rows.label_sets {
                symbols.label_set(label_set);
            }
            let columns = u32::try_from(meta.totals.len()).unwrap();
            for column in 0..columns {
                dataset.add_values(&[Pick { profile, column }], &mut sums)?;
            }
        }
    }
    Ok(())
}

fn memory(bytes: Vec<u8>) -> Arc<dyn ReadAt> {
    Arc::new(MemoryFile::new("test.block", bytes))
}

#[test]
fn a_whole_file_is_read() {
    read_everything(memory(block_bytes())).unwrap();
}

#[test]
fn every_cut_is_noticed() {
    let bytes = block_bytes();
    for length in 0..bytes.len() {
        let error = Block::open(memory(bytes[..length].to_vec())).unwrap_err();
        assert!(matches!(error, BlockError::Corrupt { .. }), "cut at {length}: {error}");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let bytes = block_bytes();
    let magic = crate::footer::MAGIC.len();
    let mut random = Random(5);
    for byte in magic..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 1 << random.below(8);
        let error = read_everything(memory(damaged));
        assert!(matches!(error, Err(BlockError::Corrupt { .. })), "byte {byte}: {error:?}");
    }
}

#[test]
fn c107_file_shorter_than_the_minimum() {
    let error = Block::open(memory(b"EVFLBLK\n".to_vec())).unwrap_err();
    let expected = "test.block: corrupt footer: file has 8 bytes, a block has at least 32";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn c107_footer_larger_than_the_guess() {
    let mut datasets: Vec<_> = (0..300).map(|seed| varied_dataset(seed, 1)).collect();
    for (number, dataset) in datasets.iter_mut().enumerate() {
        dataset.service = format!("service-{number:04}");
    }
    let input = BlockInput {
        tenant: &Tenant::anonymous(),
        datasets: datasets.iter().map(|dataset| DatasetPart { dataset, profiles: vec![0] }).collect(),
        attachments: vec![],
        arrived: Timestamp(NOON),
    };
    let mut bytes = Vec::new();
    write_block(&input, &mut bytes).unwrap();
    let footer_length = u32::from_le_bytes(bytes[bytes.len() - 24..][..4].try_into().unwrap());
    assert!(u64::from(footer_length) > crate::limits::FOOTER_GUESS_BYTES);
    let file = CountingFile { file: MemoryFile::new("test.block", bytes), read: AtomicU64::new(0) };
    let file = Arc::new(file);
    let block = Block::open(Arc::clone(&file) as Arc<dyn ReadAt>).unwrap();
    assert_eq!(block.dataset_service(299), "service-0299");
    assert_eq!(file.read.load(Ordering::Relaxed), u64::from(footer_length) + 24, "no byte twice");
}

/// A file with a hole of 5 GiB behind its magic, as a large block has other sections there.
struct WithHole(MemoryFile);

const HOLE: u64 = 5 << 30;

impl ReadAt for WithHole {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn length(&self) -> u64 {
        self.0.length() + HOLE
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let in_hole = HOLE.saturating_sub(offset).min(buffer.len() as u64) as usize;
        buffer[..in_hole].fill(0);
        self.0.read_at(offset.saturating_sub(HOLE), &mut buffer[in_hole..])
    }
}

#[test]
fn c106_offsets_above_4_gib() {
    let mut bytes = block_bytes();
    let mut footer = Footer::open(&*memory(bytes.clone())).unwrap();
    let of_datasets = footer.datasets.iter_mut().flat_map(|dataset| &mut dataset.sections);
    of_datasets.chain(&mut footer.sections).for_each(|section| section.offset += HOLE);
    footer.write(&mut bytes).unwrap();
    read_everything(Arc::new(WithHole(MemoryFile::new("test.block", bytes)))).unwrap();
}

#[test]
fn a_newer_version_is_named() {
    let mut bytes = block_bytes();
    let end = bytes.len();
    bytes[end - 20..end - 16].copy_from_slice(&2_u32.to_le_bytes());
    let start = end - 24 - u32::from_le_bytes(bytes[end - 24..][..4].try_into().unwrap()) as usize;
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[start..end - 16]);
    bytes[end - 16..end - 8].copy_from_slice(&checksum.to_le_bytes());
    let error = Block::open(memory(bytes)).unwrap_err();
    assert_eq!(error.to_string(), "test.block: format version 2 is newer than this program reads (1)");
}

/// Damages bytes: flips, numbers of the extreme kinds, cuts, repetitions.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            bytes.push(0);
        }
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize],
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..at, [0xff; 9])),
            4 => {
                let end = (at + 1 + random.below(20) as usize).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => drop(bytes.remove(at)),
        }
    }
}

/// Writes a block again after `change` was at the decoded bytes of one section of it, or at a count of its footer.
fn sealed_again(source: &dyn ReadAt, random: &mut Random) -> Vec<u8> {
    let mut footer = Footer::open(source).unwrap();
    let mut out = crate::footer::MAGIC.to_vec();
    let lists = footer.datasets.iter_mut().map(|dataset| &mut dataset.sections);
    let mut lists: Vec<&mut Vec<Section>> = lists.chain([&mut footer.sections]).collect();
    let chosen = random.below(lists.iter().map(|list| list.len() as u64).sum::<u64>() + 4);
    let mut number = 0;
    let mut packing = Packing::new().unwrap();
    for section in lists.iter_mut().flat_map(|list| list.iter_mut()) {
        let mut raw = section.read_all(source).unwrap();
        if number == chosen {
            damage(&mut raw, random);
        }
        number += 1;
        let is_packed = matches!(section.kind, SectionKind::Rows | SectionKind::Digests);
        let packing = (!is_packed).then_some(&mut packing);
        *section = Section::write(section.kind, &raw, packing, &mut out).unwrap();
    }
    if chosen >= number {
        let position = random.below(footer.datasets.len() as u64) as usize;
        let counts = &mut footer.datasets[position].counts;
        let fields = [
            &mut counts.series,
            &mut counts.profiles,
            &mut counts.nodes,
            &mut counts.function_nodes,
            &mut counts.frames,
            &mut counts.strings,
            &mut counts.mappings,
            &mut counts.functions,
            &mut counts.locations,
            &mut counts.lines,
            &mut counts.label_sets,
            &mut counts.label_pairs,
            &mut counts.headers,
        ];
        let field = fields.into_iter().nth(random.below(13) as usize).unwrap();
        *field =
            [0, 1, field.wrapping_add(1), field.wrapping_sub(1), u32::MAX, 1 << 20][random.below(6) as usize];
    }
    footer.write(&mut out).unwrap();
    out
}

/// Decoded bytes of all sections that a footer names, as far as it can be read.
fn decoded_bytes(source: &dyn ReadAt) -> u64 {
    Footer::open(source).map_or(0, |footer| {
        let of_datasets = footer.datasets.iter().flat_map(|dataset| &dataset.sections);
        of_datasets.chain(&footer.sections).map(Section::raw_length).sum()
    })
}

/// Reads a file within the bounds of D20; the error, if there was one.
fn read_within_bounds(bytes: Vec<u8>) -> Result<(), BlockError> {
    let length = bytes.len() as u64;
    let file = Arc::new(CountingFile { file: MemoryFile::new("test.block", bytes), read: AtomicU64::new(0) });
    let decoded = decoded_bytes(&*file);
    file.read.store(0, Ordering::Relaxed);
    let mut result = Ok(());
    let peak = peak_of(|| result = read_everything(Arc::clone(&file) as Arc<dyn ReadAt>));
    let bound = 8 * decoded + (16 << 20);
    assert!(peak as u64 <= bound, "{peak} bytes held for {decoded} decoded");
    // Every column of every profile reads its chunk, attachments and ids are asked for several times.
    let read = file.read.load(Ordering::Relaxed);
    assert!(read <= 64 * (length + decoded), "{read} bytes read of {length}");
    result
}

/// What a run is made of, past the test harness, which keeps what `println!` writes in a test that passes.
fn say(line: &str) {
    // Nobody may be listening, which is no reason to fail.
    let _ = io::Write::write_all(&mut io::stdout().lock(), line.as_bytes());
}

#[test]
fn any_bytes_are_read_within_bounds() {
    let (seed, cases) = (20_261_129, 1500);
    say(&format!("fuzz block, damaged files: {cases} cases, seed {seed}\n"));
    let mut random = Random(seed);
    let whole = block_bytes();
    let mut refused = 0;
    for _ in 0..cases {
        let mut bytes = whole.clone();
        damage(&mut bytes, &mut random);
        refused += usize::from(read_within_bounds(bytes).is_err());
    }
    assert!(refused > cases * 9 / 10);
}

#[test]
fn any_sections_are_read_within_bounds() {
    let (seed, cases) = (20_261_130, 1500);
    say(&format!("fuzz block, damaged sections: {cases} cases, seed {seed}\n"));
    let mut random = Random(seed);
    let whole = memory(block_bytes());
    let mut refused = 0;
    for _ in 0..cases {
        let bytes = sealed_again(&*whole, &mut random);
        refused += usize::from(read_within_bounds(bytes).is_err());
    }
    assert!(refused > cases / 4);
}
