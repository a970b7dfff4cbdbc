//! Interning of code: strings, functions, mappings and locations, from the tables of a profile to those of its partition.
//!
//! Everything is hashed by what it is, from the strings up, and looked up from the locations down: most locations of a
//! profile are known, and then nothing below them needs a look-up. All of a kind are looked up together, their places in
//! the table brought into the cache first, so that cache misses do not add up.
//!
//! Not here: labels, the header and series (`intern`), stacks (`stacks`).

use block::NONE;
use profile::{LabelValue, Location, MappingIndex, Profile, StringIndex, StringRange};

use super::{
    intern::{InternBuffer, Interner, index},
    tables::Tables,
};
use crate::hash::{PathHash, high_word, low_word};

impl Interner {
    /// Hashes of all strings, by position; the empty string has the hash of nothing. A few are not wanted, such as the names
    /// of sample types, but finding out which takes longer.
    fn string_hashes(&self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        buffer.string_hashes.clear();
        buffer.string_hashes.extend(profile.columns.strings.iter().map(|range| match range.length {
            0 => PathHash::default(),
            _ => self.keys.of_bytes(bytes_of(profile, range)),
        }));
    }

    fn function_hashes(&self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { string_hashes, function_hashes, .. } = buffer;
        function_hashes.clear();
        function_hashes.extend(profile.columns.functions.iter().map(|function| {
            let strings = [function.name, function.system_name, function.file];
            let hash = strings.iter().fold(self.keys.start(), |hash, string| {
                self.keys.add_hash(hash, string_hashes[string.position()], 0)
            });
            self.keys.add(hash, function.start_line.cast_unsigned())
        }));
    }

    /// What hashes of locations begin with, two for each mapping: see [`first_of`].
    fn mapping_hashes(&self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { string_hashes, mapping_hashes, .. } = buffer;
        mapping_hashes.clear();
        let mut push = |hash: PathHash| mapping_hashes.extend([0, 1].map(|fold| self.keys.add(hash, fold)));
        push(self.keys.start());
        for mapping in &profile.columns.mappings {
            let words = [mapping.start, mapping.limit, mapping.offset, u64::from(mapping.flags.0)];
            let hash = [mapping.file, mapping.build_id].iter().fold(self.keys.of(&words), |hash, string| {
                self.keys.add_hash(hash, string_hashes[string.position()], 0)
            });
            push(hash);
        }
    }

    /// Hashes of all locations: of what they are, not of ids that look-ups would have to find first. Their places in the
    /// table are asked for meanwhile.
    fn location_hashes(&self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { function_hashes, mapping_hashes, hashes, .. } = buffer;
        let columns = profile.columns;
        hashes.clear();
        hashes.extend(columns.locations.iter().map(|location| {
            let mut hash = self.keys.add(mapping_hashes[first_of(location)], location.address);
            for line in columns.location_lines(location) {
                let function = function_hashes[line.function.position()];
                match u32::try_from(line.line) {
                    // Nearly every line: one word tells it all.
                    Ok(short) if short < 1 << 31 && line.column == 0 => {
                        hash = self.keys.add_hash(hash, function, u64::from(short));
                    }
                    _ => {
                        hash = self.keys.add_hash(hash, function, 1 << 31);
                        hash = self.keys.add(hash, line.line.cast_unsigned());
                        hash = self.keys.add(hash, line.column.cast_unsigned());
                    }
                }
            }
            self.locations.prefetch(hash);
            hash
        }));
    }

    /// Mappings, functions, locations and the strings of what needs them. A location is looked up by what it is, so the
    /// functions and strings of one that is known, and most are, need no look-ups of their own. Tables are filled from the
    /// strings up, since readers may read what refers at once.
    pub(super) fn code(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        self.string_hashes(profile, buffer);
        self.function_hashes(profile, buffer);
        self.mapping_hashes(profile, buffer);
        self.location_hashes(profile, buffer);
        self.known_locations(profile, buffer);
        self.known_functions(profile, buffer);
        self.strings(tables, profile, buffer);
        self.mappings(tables, profile, buffer);
        self.new_functions(tables, profile, buffer);
        self.new_locations(tables, profile, buffer);
    }

    /// Looks all locations up, and marks the functions of those that are not known.
    fn known_locations(&self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { hashes, locations, new_locations, function_wanted, .. } = buffer;
        let columns = profile.columns;
        locations.clear();
        new_locations.clear();
        function_wanted.clear();
        function_wanted.resize(columns.functions.len(), false);
        for (location, &hash) in columns.locations.iter().zip(&*hashes) {
            let known = self.locations.get(hash);
            if known.is_none() {
                new_locations.push(index(locations.len()));
                for line in columns.location_lines(location) {
                    function_wanted[line.function.position()] = true;
                }
            }
            locations.push(known.unwrap_or(NONE));
        }
    }

    /// Looks up the functions of new locations, and marks the strings that need ids.
    fn known_functions(&self, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer {
            function_hashes, function_wanted, functions, new_functions, string_wanted, ..
        } = buffer;
        let columns = profile.columns;
        mark_strings(profile, string_wanted);
        functions.clear();
        functions.resize(columns.functions.len(), NONE);
        new_functions.clear();
        let wanted = || function_wanted.iter().enumerate().filter(|&(_, &is_wanted)| is_wanted);
        wanted().for_each(|(position, _)| self.functions.prefetch(function_hashes[position]));
        for (position, _) in wanted() {
            match self.functions.get(function_hashes[position]) {
                Some(id) => functions[position] = id,
                None => {
                    new_functions.push(index(position));
                    let function = &columns.functions[position];
                    for string in [function.name, function.system_name, function.file] {
                        string_wanted[string.position()] = true;
                    }
                }
            }
        }
    }

    /// Ids of marked strings; others are [`NONE`].
    fn strings(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { string_wanted, string_hashes, strings, new_text, new_strings, .. } = buffer;
        strings.clear();
        new_text.clear();
        new_strings.clear();
        let wanted = string_hashes.iter().zip(&*string_wanted).filter(|&(_, &is_wanted)| is_wanted);
        wanted.for_each(|(&hash, _)| self.strings.prefetch(hash));
        let first_new = tables.strings.len();
        for ((range, &is_wanted), &hash) in
            profile.columns.strings.iter().zip(&*string_wanted).zip(&*string_hashes)
        {
            if !is_wanted || range.length == 0 {
                strings.push(if is_wanted { 0 } else { NONE });
                continue;
            }
            let id = self.strings.get(hash).unwrap_or_else(|| {
                let id = first_new + index(new_strings.len());
                new_strings.push((index(new_text.len()), range.length));
                new_text.extend_from_slice(bytes_of(profile, range));
                self.strings.insert(hash, id);
                id
            });
            strings.push(id);
        }
        if !new_strings.is_empty() {
            let chunk = tables.text.push(new_text.as_slice().into());
            for &(start, length) in &*new_strings {
                tables.strings.push([chunk, start, length]);
            }
        }
    }

    fn mappings(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { mapping_hashes, mappings, strings, .. } = buffer;
        mappings.clear();
        // Those of no mapping come first, and each has two: see [`first_of`].
        let hashes = mapping_hashes.iter().skip(2).step_by(2);
        for (mapping, &hash) in profile.columns.mappings.iter().zip(hashes) {
            let id = self.mappings.get(hash).unwrap_or_else(|| {
                let places = [mapping.start, mapping.limit, mapping.offset];
                let names = [mapping.file, mapping.build_id].map(|string| strings[string.position()]);
                let id = tables.push_mapping(places, names, u32::from(mapping.flags.0));
                self.mappings.insert(hash, id);
                id
            });
            mappings.push(id);
        }
    }

    fn new_functions(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { new_functions, function_hashes, functions, strings, .. } = buffer;
        for &position in &*new_functions {
            let position = position as usize;
            let function = &profile.columns.functions[position];
            let hash = function_hashes[position];
            // An equal one of this profile may have brought it.
            functions[position] = self.functions.get(hash).unwrap_or_else(|| {
                let string = |index: StringIndex| strings[index.position()];
                let start_line = function.start_line.cast_unsigned();
                let id = tables.functions.push([
                    string(function.name),
                    string(function.system_name),
                    string(function.file),
                    low_word(start_line),
                    high_word(start_line),
                ]);
                self.functions.insert(hash, id);
                id
            });
        }
    }

    /// Makes locations that are not known, and the numbers of all frames.
    fn new_locations(&mut self, tables: &Tables, profile: &Profile<'_>, buffer: &mut InternBuffer) {
        let InternBuffer { new_locations, hashes, functions, mappings, locations, frames, .. } = buffer;
        let columns = profile.columns;
        for &position in &*new_locations {
            let position = position as usize;
            let location = &columns.locations[position];
            let hash = hashes[position];
            // An equal one of this profile may have brought it.
            locations[position] = self.locations.get(hash).unwrap_or_else(|| {
                let first = tables.lines.len();
                for line in columns.location_lines(location) {
                    let (number, column) = (line.line.cast_unsigned(), line.column.cast_unsigned());
                    tables.lines.push([
                        functions[line.function.position()],
                        low_word(number),
                        high_word(number),
                        low_word(column),
                        high_word(column),
                    ]);
                }
                let mapping = mapping_of(location, mappings);
                let (low, high) = (low_word(location.address), high_word(location.address));
                let lines_and_fold = location.lines_length << 1 | u32::from(location.is_folded);
                let id = tables.locations.push([mapping, low, high, first, lines_and_fold]);
                self.locations.insert(hash, id);
                id
            });
        }
        frames.clear();
        frames.extend(locations.iter().map(|&id| self.paths.frame(id)));
    }
}

/// The partition's id of a location's mapping.
#[inline]
fn mapping_of(location: &Location, mappings: &[u32]) -> u32 {
    match location.mapping {
        MappingIndex::NONE => NONE,
        known => mappings[known.position()],
    }
}

/// The bytes of a string.
#[inline]
fn bytes_of<'a>(profile: &Profile<'a>, range: &StringRange) -> &'a [u8] {
    &profile.text[range.start as usize..][..range.length as usize]
}

/// Where the hashes of a location begin: at its mapping's, which for folded ones is another.
#[inline]
fn first_of(location: &Location) -> usize {
    let mapping = match location.mapping {
        MappingIndex::NONE => 0,
        known => known.position() + 1,
    };
    2 * mapping + usize::from(location.is_folded)
}

/// Marks the strings of mappings, labels and the header; not those of sample types, nor what a decoder took elsewhere.
fn mark_strings(profile: &Profile<'_>, wanted: &mut Vec<bool>) {
    let columns = profile.columns;
    wanted.clear();
    wanted.resize(columns.strings.len(), false);
    for mapping in &columns.mappings {
        wanted[mapping.file.position()] = true;
        wanted[mapping.build_id.position()] = true;
    }
    for label in &columns.labels {
        wanted[label.key.position()] = true;
        match label.value {
            LabelValue::Text(text) => wanted[text.position()] = true,
            LabelValue::Number { unit, .. } => wanted[unit.position()] = true,
        }
    }
    let header = &columns.header;
    for &comment in &header.comments {
        wanted[comment.position()] = true;
    }
    for one in [header.default_sample_type, header.drop_frames, header.keep_frames, header.doc_url] {
        wanted[one.position()] = true;
    }
}
