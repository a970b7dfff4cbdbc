//! Whole names: functions with their parameters, variables, and what compilers generate beside them.

use super::{
    super::tree::{Id, List, Node},
    Parser,
};

impl<'a> Parser<'a> {
    /// `<encoding>`: a function with its parameters, a variable, or a special name.
    pub(super) fn encoding(&mut self) -> Option<Id> {
        self.nested(|parser| {
            let arguments = parser.arguments.take();
            let are_operators = std::mem::take(&mut parser.arguments_are_operators);
            let encoding = match parser.peek() {
                b'G' | b'T' => parser.special_name(),
                _ => parser.function_or_variable(),
            };
            parser.arguments = arguments;
            parser.arguments_are_operators = are_operators;
            encoding
        })
    }

    fn function_or_variable(&mut self) -> Option<Id> {
        let name = self.name(true)?;
        let arguments = self.arguments;
        if self.eat(b"Ua9enable_ifI") {
            self.list_until(b"E", Self::template_argument)?;
        }
        if self.is_at_end_of_encoding() {
            return Some(name.id);
        }
        if name.has_arguments && !name.is_without_result {
            self.type_of()?;
        }
        let parameters = self.parameters()?;
        self.requires_clause()?;
        self.add(Node::Function { name: name.id, arguments, parameters, qualifiers: name.qualifiers })
    }

    /// Types up to the end of a function's; a single `void` is none at all.
    pub(super) fn parameters(&mut self) -> Option<List> {
        let start = self.pending.len();
        if self.peek() == b'v' {
            self.position += 1;
        } else {
            loop {
                let parameter = self.type_of()?;
                self.pending.push(parameter);
                if self.is_at_end_of_encoding()
                    || matches!(self.peek(), b'Q')
                    || self.is_at_reference_qualifier()
                {
                    break;
                }
            }
        }
        self.tree.add_list(self.pending.drain(start..))
    }

    /// `RE` and `OE` end a function's type; no type is a reference to nothing.
    fn is_at_reference_qualifier(&self) -> bool {
        matches!(self.peek(), b'R' | b'O') && self.peek_at(1) == b'E'
    }

    fn is_at_end_of_encoding(&self) -> bool {
        self.is_at_end() || matches!(self.peek(), b'E' | b'.' | b'_')
    }

    /// `Q <constraint>`, which is not shown.
    pub(super) fn requires_clause(&mut self) -> Option<()> {
        if self.eat(b"Q") {
            self.expression()?;
        }
        Some(())
    }

    /// `<special-name>`.
    fn special_name(&mut self) -> Option<Id> {
        let code = [self.peek(), self.peek_at(1)];
        self.position += 2;
        let (text, of) = match &code {
            b"TV" => ("vtable for ", self.type_of()?),
            b"TT" => ("VTT for ", self.type_of()?),
            b"TI" => ("typeinfo for ", self.type_of()?),
            b"TS" => ("typeinfo name for ", self.type_of()?),
            b"TA" => ("template parameter object for ", self.template_argument()?),
            b"TC" => return self.construction_table(),
            b"TH" => ("TLS init function for ", self.name(false)?.id),
            b"TW" => ("TLS wrapper function for ", self.name(false)?.id),
            b"Th" => {
                self.position -= 1;
                self.call_offset()?;
                ("non-virtual thunk to ", self.encoding()?)
            }
            b"Tv" => {
                self.position -= 1;
                self.call_offset()?;
                ("virtual thunk to ", self.encoding()?)
            }
            b"Tc" => {
                self.call_offset()?;
                self.call_offset()?;
                ("covariant return thunk to ", self.encoding()?)
            }
            b"GV" => ("guard variable for ", self.name(false)?.id),
            b"GR" => return self.reference_temporary(),
            b"GA" => ("hidden alias for ", self.encoding()?),
            b"GT" => {
                let is_clone = self.eat(b"t");
                if !is_clone {
                    self.expect(b"n")?;
                }
                let text = if is_clone { "transaction clone for " } else { "non-transaction clone for " };
                (text, self.encoding()?)
            }
            _ => return None,
        };
        self.add(Node::Special { text, of })
    }

    /// `TC <derived> <offset> _ <base>`.
    fn construction_table(&mut self) -> Option<Id> {
        let derived = self.type_of()?;
        self.offset()?;
        let base = self.type_of()?;
        self.add(Node::ConstructionTable { base, derived })
    }

    /// `GR <name> [<number>] _`; older compilers leave the end away.
    fn reference_temporary(&mut self) -> Option<Id> {
        let of = self.name(false)?.id;
        let number =
            if self.is_at_end_of_encoding() && self.peek() != b'_' { 0 } else { self.sequence_index()? };
        self.add(Node::ReferenceTemporary { number, of })
    }

    /// `h <offset>` or `v <offset> <offset>`: how far a thunk moves `this`, which is not shown.
    fn call_offset(&mut self) -> Option<()> {
        self.step()?;
        if self.eat(b"h") {
            return self.offset();
        }
        self.expect(b"v")?;
        self.offset()?;
        self.offset()
    }

    fn offset(&mut self) -> Option<()> {
        self.eat(b"n");
        self.digits()?;
        self.expect(b"_")
    }

    /// `Z <function> E` and what is inside the function; the second is what a name says of itself.
    pub(super) fn local_name(&mut self, is_encoding: bool) -> Option<super::name::Name> {
        self.expect(b"Z")?;
        let function = self.encoding()?;
        self.expect(b"E")?;
        if self.peek() == b's' {
            self.position += 1;
            self.discriminator()?;
            let literal = self.add(Node::Name("string literal"))?;
            let id = self.add(Node::Scoped { scope: function, name: literal })?;
            return Some(super::name::Name::plain(id));
        }
        let mut scope = function;
        if self.eat(b"d") {
            let number = self.index()?.checked_add(1)?;
            let argument = self.add(Node::DefaultArgument { number })?;
            scope = self.add(Node::Scoped { scope, name: argument })?;
        }
        let entity = self.name(is_encoding)?;
        self.discriminator()?;
        let id = self.add(Node::Scoped { scope, name: entity.id })?;
        Some(super::name::Name { id, ..entity })
    }

    /// `_3` or `__12_`: which of several things of one name, which is not shown.
    fn discriminator(&mut self) -> Option<()> {
        self.step()?;
        if self.eat(b"__") {
            self.digits()?;
            return self.expect(b"_");
        }
        if self.peek() == b'_' && self.peek_at(1).is_ascii_digit() {
            self.position += 2;
        }
        Some(())
    }

    /// `.isra.0`, `.cold`, `.123`: one change that the optimiser made, with its numbers.
    pub(super) fn clone_suffix(&mut self) -> Option<&'a str> {
        self.step()?;
        let start = self.position;
        self.expect(b".")?;
        let word = self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if word.is_empty() {
            return None;
        }
        while self.peek() == b'.' && self.peek_at(1).is_ascii_digit() {
            self.position += 1;
            self.take_while(|byte| byte.is_ascii_digit());
        }
        self.text.get(start..self.position)
    }
}
