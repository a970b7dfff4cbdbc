//! Literals: values of a type, and functions and variables that are named.

use super::{
    super::tree::{Id, Node},
    Parser,
};

impl Parser<'_> {
    /// `L <type> <value> E` or `L_Z <encoding> E`, whose underscore older compilers leave away.
    pub(super) fn literal(&mut self) -> Option<Id> {
        self.step()?;
        self.expect(b"L")?;
        if self.eat(b"_Z") || self.eat(b"Z") {
            let encoding = self.encoding()?;
            self.expect(b"E")?;
            return Some(encoding);
        }
        let of = self.type_of()?;
        let value =
            self.take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'_');
        self.expect(b"E")?;
        match (value, self.tree.node(of)) {
            ("", Node::Array { .. }) => self.add(Node::StringLiteral { of }),
            // null pointers and closures have but one value
            ("", Node::Builtin("std::nullptr_t")) | ("0", Node::Builtin("std::nullptr_t")) => {
                self.add(Node::Name("nullptr"))
            }
            ("", _) => Some(of),
            _ => self.add(Node::Literal { of, value }),
        }
    }
}
