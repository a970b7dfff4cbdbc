//! Which package a function belongs to, by its display name: functions of one package have one colour.
//!
//! A guess from the spelling, good enough for a colour and used for nothing else.

/// The package, module or namespace part of a name; where there is none, the file, else the name itself.
#[must_use]
pub fn package_of<'a>(name: &'a str, file: &'a str) -> &'a str {
    let trimmed = name.trim_start_matches(['<', '&', '*', '(', '[', '.', ' ', '~']);
    let arguments = trimmed.find(['(', '<', '[', ' ', '{']).unwrap_or(trimmed.len());
    let plain = &trimmed[..arguments];
    if let Some(colons) = plain.find("::") {
        return &trimmed[..colons];
    }
    if let Some(slash) = plain.rfind('/') {
        let end = plain[slash..].find('.').map_or(plain.len(), |dot| slash + dot);
        return &plain[..end];
    }
    if plain.contains('.') {
        return dotted(plain);
    }
    if file.is_empty() { trimmed } else { file }
}

/// `java.util` of `java.util.HashMap.put`, `runtime` of `runtime.mcall`: the leading words in lower case without the last.
fn dotted(name: &str) -> &str {
    let last = name.rfind('.').unwrap_or(name.len());
    let mut end = 0;
    let mut start = 0;
    while start <= last {
        let next = name[start..].find('.').map_or(name.len(), |dot| start + dot);
        let is_package = next <= last && name[start..next].chars().all(|c| !c.is_uppercase() && c != '$');
        if !is_package {
            break;
        }
        end = next;
        start = next + 1;
    }
    if end == 0 { &name[..name.find('.').unwrap_or(name.len())] } else { &name[..end] }
}

/// A hash that is the same on every machine and in every version (FNV-1a), so that colours stay.
#[must_use]
pub fn stable_hash(text: &str) -> u32 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    u32::try_from((hash ^ (hash >> 32)) & 0xffff_ffff).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_several_languages() {
        for (name, package) in [
            ("net/http.(*conn).serve", "net/http"),
            ("github.com/a/b.c/d.(*T).M.func1", "github.com/a/b.c/d"),
            ("runtime.mcall", "runtime"),
            ("main.main", "main"),
            ("main.(*Server).Run", "main"),
            ("java.util.HashMap.put", "java.util"),
            ("java/util/HashMap.put", "java/util/HashMap"),
            ("alloc::vec::Vec<T>::push", "alloc"),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc"),
            ("std::sort(int*, int*)", "std"),
            ("do_syscall_64", "do_syscall_64"),
            ("", ""),
            (".", ""),
        ] {
            assert_eq!(package_of(name, ""), package, "{name}");
        }
        assert_eq!(package_of("malloc", "malloc.c"), "malloc.c");
    }
}
