//! What kind of code a frame is, guessed from its name and file until profiles say so themselves (D42).
//!
//! Used for looks only; what cannot be told is native code.

/// Kind of a frame. The numbers are those of the binary flame reply and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// Machine code of a program or library.
    Native = 0,
    /// The kernel of the operating system.
    Kernel = 1,
    /// Go.
    Go = 2,
    /// Java, Kotlin, Scala and others on the Java virtual machine.
    Jvm = 3,
    /// Python.
    Python = 4,
    /// JavaScript under Node.js.
    Node = 5,
    /// WebAssembly.
    Wasm = 6,
    /// No code but a mark: a stack that was cut, a sample without one.
    Pseudo = 9,
}

/// Endings of source files.
const ENDINGS: [(&str, FrameKind); 14] = [
    ("go", FrameKind::Go),
    ("java", FrameKind::Jvm),
    ("kt", FrameKind::Jvm),
    ("scala", FrameKind::Jvm),
    ("groovy", FrameKind::Jvm),
    ("clj", FrameKind::Jvm),
    ("py", FrameKind::Python),
    ("pyx", FrameKind::Python),
    ("js", FrameKind::Node),
    ("mjs", FrameKind::Node),
    ("cjs", FrameKind::Node),
    ("ts", FrameKind::Node),
    ("wasm", FrameKind::Wasm),
    ("wat", FrameKind::Wasm),
];

/// Names of frames that stand for no function.
const MARKS: [&str; 2] = ["(no stack)", "(truncated)"];

/// The kind of a frame, by its display name and the file that goes with it (may be empty).
///
/// ```
/// use names::{FrameKind, frame_kind};
/// assert_eq!(frame_kind("main.main", "/src/main.go"), FrameKind::Go);
/// assert_eq!(frame_kind("do_syscall_64_[k]", ""), FrameKind::Kernel);
/// assert_eq!(frame_kind("memcpy", ""), FrameKind::Native);
/// ```
#[must_use]
pub fn frame_kind(name: &str, file: &str) -> FrameKind {
    if MARKS.contains(&name) {
        return FrameKind::Pseudo;
    }
    // `_[k]` is how folded stacks of `perf script` mark the kernel; the others are the files of its symbols.
    if name.ends_with("_[k]") || file.starts_with("[kernel") || file.ends_with("vmlinux") {
        return FrameKind::Kernel;
    }
    if file.starts_with("node:") {
        return FrameKind::Node;
    }
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    ENDINGS.iter().find(|(known, _)| *known == ending).map_or(FrameKind::Native, |&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_the_file() {
        for (name, file, kind) in [
            ("java.util.HashMap.put", "HashMap.java", FrameKind::Jvm),
            ("handler", "/app/server.mjs", FrameKind::Node),
            ("readFileSync", "node:fs", FrameKind::Node),
            ("f", "a.py", FrameKind::Python),
            ("alloc::vec::Vec<T>::push", "/rustc/library/alloc/src/vec/mod.rs", FrameKind::Native),
            ("vfs_read", "[kernel.kallsyms]", FrameKind::Kernel),
            ("(truncated)", "", FrameKind::Pseudo),
            ("", "", FrameKind::Native),
            ("x", "no.ending.", FrameKind::Native),
        ] {
            assert_eq!(frame_kind(name, file), kind, "{name} {file}");
        }
    }
}
