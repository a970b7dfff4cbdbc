//! Undoing the name mangling of C++ as the Itanium C++ ABI defines it
//! (<https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling>), which all compilers but Microsoft's follow.
//!
//! Why not a library: the one at hand tries one rule after the other on the same bytes, which for a bad name of 90 bytes
//! takes days. Here the next one to three bytes decide on every rule, so that no byte is read for two of them; where
//! compilers differ, the whole name is read twice at most. Each rule that is begun and each part that is written costs a
//! step; steps, nesting and output are limited (`limits.rs`). What is beyond the limits, or no name, is refused.
//!
//! [`parse`] reads a name into a [`tree`], [`print`] writes the tree as text: parameters are shown, the result types of
//! templates are not.

mod operators;
mod parse;
mod print;
mod tree;

use self::{
    parse::{Dialect, Parser},
    print::Printer,
    tree::{Id, Tree},
};
use crate::{
    limits::{
        DEMANGLED_BYTES_MAX, DEMANGLED_BYTES_MIN, DEMANGLED_BYTES_PER_BYTE, PARSE_STEPS_MIN,
        PARSE_STEPS_PER_BYTE, PRINT_STEPS_PER_BYTE,
    },
    work,
};

/// The text of a name that begins with `_Z`.
pub(crate) fn demangle(name: &str) -> Option<String> {
    let steps_max = PARSE_STEPS_PER_BYTE * name.len() + PARSE_STEPS_MIN;
    let (tree, root) = parse(name, steps_max)?;
    let bytes_max = (DEMANGLED_BYTES_PER_BYTE * name.len() + DEMANGLED_BYTES_MIN).min(DEMANGLED_BYTES_MAX);
    print(&tree, root, bytes_max)
}

fn parse(name: &str, steps_max: usize) -> Option<(Tree<'_>, Id)> {
    let mut steps_left = steps_max;
    let mut parsed = None;
    for dialect in [Dialect::Gnu, Dialect::Abi] {
        let mut parser = Parser::new(name, dialect, steps_left);
        let root = parser.mangled_name();
        steps_left = parser.steps_left;
        parsed = root.map(|root| (parser.tree, root));
        if parsed.is_some() || !parser.has_scopes {
            break;
        }
    }
    work::count(steps_max - steps_left);
    parsed
}

fn print(tree: &Tree<'_>, root: Id, bytes_max: usize) -> Option<String> {
    let steps_max = PRINT_STEPS_PER_BYTE * bytes_max;
    let mut printer = Printer::new(tree, bytes_max, steps_max);
    let result = printer.print(root);
    work::count(steps_max - printer.steps_left);
    result?;
    Some(printer.text)
}
