//! Mappings, locations with their lines, functions.

use profile::{Function, FunctionIndex, Line, Location, Mapping, MappingFlags, MappingIndex};

use super::{
    packed::large,
    pass::{Pass, dangling},
    wire::{Fault, Reader, low32, narrow, signed},
};

impl<'a, const CAREFUL: bool> Pass<'a, CAREFUL> {
    #[inline(always)]
    pub(super) fn location(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let end = reader.delimited()?;
        let position = self.columns.locations.len();
        let lines_start = self.columns.lines.len();
        let mut id = reader.varint_if(0x08, end)?;
        let mut mapping_id = reader.varint_if(0x10, end)?;
        let mut address = reader.varint_if(0x18, end)?;
        let mut folded = 0;
        while reader.is_next(0x22, end) {
            self.line(reader, position, lines_start)?;
        }
        while reader.at() < end {
            match reader.varint()? {
                0x08 => id = reader.varint()?,
                0x10 => mapping_id = reader.varint()?,
                0x18 => address = reader.varint()?,
                0x22 => self.line(reader, position, lines_start)?,
                0x28 => folded = reader.varint()?,
                tag => reader.skip(tag, 5)?,
            }
        }
        reader.done(end)?;
        let mapping = if CAREFUL {
            match self.ids.mappings.position(mapping_id) {
                Some(found) => MappingIndex(found),
                None if mapping_id == 0 => MappingIndex::NONE,
                None => {
                    return Err(self.note(dangling(
                        format!("location[{position}].mapping_id"),
                        mapping_id,
                        "mapping",
                    )));
                }
            }
        } else {
            if id != position as u64 + 1 {
                return Err(Fault::Odd);
            }
            self.trusted.mapping_id = self.trusted.mapping_id.max(mapping_id);
            // id 0 wraps to `MappingIndex::NONE`
            MappingIndex(low32(mapping_id.wrapping_sub(1)))
        };
        let lines_length = self.columns.lines.len() - lines_start;
        self.lines_max = self.lines_max.max(lines_length);
        self.budget.room(&mut self.columns.locations, 1)?;
        self.columns.locations.push(Location {
            mapping,
            address,
            lines_start: narrow(lines_start),
            lines_length: narrow(lines_length),
            is_folded: folded != 0,
        });
        Ok(())
    }

    #[inline(always)]
    fn line(&mut self, reader: &mut Reader<'a>, location: usize, lines_start: usize) -> Result<(), Fault> {
        let end = reader.delimited()?;
        let (mut function_id, mut line) = match reader.short_pair(0x08, 0x10, end) {
            Some(both) => both,
            None => (reader.varint_if(0x08, end)?, reader.varint_if(0x10, end)?),
        };
        let mut column = reader.varint_if(0x18, end)?;
        while reader.at() < end {
            match reader.varint()? {
                0x08 => function_id = reader.varint()?,
                0x10 => line = reader.varint()?,
                0x18 => column = reader.varint()?,
                tag => reader.skip(tag, 3)?,
            }
        }
        reader.done(end)?;
        let function = if CAREFUL {
            match self.ids.function(function_id) {
                Some(found) => FunctionIndex(found),
                None => {
                    let entry = self.columns.lines.len() - lines_start;
                    let field = format!("location[{location}].line[{entry}].function_id");
                    return Err(self.note(dangling(field, function_id, "function")));
                }
            }
        } else {
            self.trusted.function_id = self.trusted.function_id.max(large(function_id));
            FunctionIndex(low32(function_id.wrapping_sub(1)))
        };
        self.budget.room(&mut self.columns.lines, 1)?;
        self.columns.lines.push(Line { function, line: signed(line), column: signed(column) });
        Ok(())
    }

    #[inline(always)]
    pub(super) fn function(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let end = reader.delimited()?;
        let position = self.columns.functions.len();
        let mut id = reader.varint_if(0x08, end)?;
        let mut name = reader.varint_if(0x10, end)?;
        let mut system_name = reader.varint_if(0x18, end)?;
        let mut file = reader.varint_if(0x20, end)?;
        let mut start_line = reader.varint_if(0x28, end)?;
        while reader.at() < end {
            match reader.varint()? {
                0x08 => id = reader.varint()?,
                0x10 => name = reader.varint()?,
                0x18 => system_name = reader.varint()?,
                0x20 => file = reader.varint()?,
                0x28 => start_line = reader.varint()?,
                tag => reader.skip(tag, 5)?,
            }
        }
        reader.done(end)?;
        if !CAREFUL && id != position as u64 + 1 {
            return Err(Fault::Odd);
        }
        let function = Function {
            name: self.string(name, || format!("function[{position}].name"))?,
            system_name: self.string(system_name, || format!("function[{position}].system_name"))?,
            file: self.string(file, || format!("function[{position}].filename"))?,
            start_line: signed(start_line),
        };
        self.budget.room(&mut self.columns.functions, 1)?;
        self.columns.functions.push(function);
        Ok(())
    }

    #[inline(never)]
    pub(super) fn mapping(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let end = reader.delimited()?;
        let position = self.columns.mappings.len();
        let mut mapping = Mapping::default();
        let (mut id, mut file, mut build_id) = (0, 0, 0);
        while reader.at() < end {
            let tag = reader.varint()?;
            let flag = match tag {
                0x38 => MappingFlags::FUNCTIONS,
                0x40 => MappingFlags::FILENAMES,
                0x48 => MappingFlags::LINE_NUMBERS,
                0x50 => MappingFlags::INLINE_FRAMES,
                _ => 0,
            };
            match tag {
                0x08 => id = reader.varint()?,
                0x10 => mapping.start = reader.varint()?,
                0x18 => mapping.limit = reader.varint()?,
                0x20 => mapping.offset = reader.varint()?,
                0x28 => file = reader.varint()?,
                0x30 => build_id = reader.varint()?,
                0x38 | 0x40 | 0x48 | 0x50 => {
                    let is_set = reader.varint()? != 0;
                    mapping.flags.0 = if is_set { mapping.flags.0 | flag } else { mapping.flags.0 & !flag };
                }
                _ => reader.skip(tag, 10)?,
            }
        }
        reader.done(end)?;
        if !CAREFUL && id != position as u64 + 1 {
            return Err(Fault::Odd);
        }
        mapping.file = self.string(file, || format!("mapping[{position}].filename"))?;
        mapping.build_id = self.string(build_id, || format!("mapping[{position}].build_id"))?;
        self.budget.room(&mut self.columns.mappings, 1)?;
        self.columns.mappings.push(mapping);
        Ok(())
    }
}
