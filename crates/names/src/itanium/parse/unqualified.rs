//! Names without their scopes: identifiers, operators, constructors, and what has no name in the source.

use super::{
    super::{
        operators,
        tree::{Id, Node},
    },
    Parser,
};

/// A part of a name.
pub(super) struct Part {
    pub(super) id: Id,
    /// Constructors, destructors and conversions have no result's type.
    pub(super) is_without_result: bool,
}

impl<'a> Parser<'a> {
    /// `<unqualified-name>` in a scope, which constructors take their names from.
    pub(super) fn unqualified_name(&mut self, scope: Option<Id>) -> Option<Part> {
        self.step()?;
        // friends that are told apart by their constraints
        if self.peek() == b'F' {
            self.position += 1;
        }
        // internal linkage
        if self.peek() == b'L' {
            self.position += 1;
        }
        let mut is_without_result = false;
        let id = match (self.peek(), self.peek_at(1)) {
            (b'0'..=b'9', _) => self.source_name()?,
            (b'U', b't') => self.unnamed_type()?,
            (b'U', b'l') => self.closure()?,
            (b'D', b'C') => self.structured_binding()?,
            (b'C', b'1'..=b'5' | b'I') => {
                is_without_result = true;
                self.constructor(scope?)?
            }
            (b'D', b'0'..=b'5') => {
                is_without_result = true;
                self.position += 2;
                self.add(Node::Destructor { class: scope? })?
            }
            (b'c', b'v') => {
                is_without_result = true;
                self.conversion()?
            }
            _ => self.operator_name()?,
        };
        let id = self.abi_tags(id)?;
        Some(Part { id, is_without_result })
    }

    /// `<source-name>`: an identifier behind its length.
    pub(super) fn source_name(&mut self) -> Option<Id> {
        let name = self.identifier()?;
        // the name of the file, or zeros, may follow
        let is_anonymous = name.strip_prefix("_GLOBAL_").is_some_and(|rest| {
            let mut rest = rest.bytes();
            matches!(rest.next(), Some(b'_' | b'.' | b'$')) && rest.next() == Some(b'N')
        });
        self.add(Node::Name(if is_anonymous { "(anonymous namespace)" } else { name }))
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let name = self.text.get(self.position..self.position.checked_add(length)?)?;
        self.position += length;
        (!name.is_empty()).then_some(name)
    }

    /// `B <source-name>`, any number of them.
    pub(super) fn abi_tags(&mut self, mut name: Id) -> Option<Id> {
        while self.eat(b"B") {
            let tag = self.identifier()?;
            name = self.add(Node::Tagged { name, tag })?;
        }
        Some(name)
    }

    /// `C1` to `C5`, or `CI1` and `CI2` with the class that a constructor is inherited from.
    fn constructor(&mut self, scope: Id) -> Option<Id> {
        self.position += 1;
        let is_inherited = self.eat(b"I");
        if !matches!(self.peek(), b'1'..=b'5') {
            return None;
        }
        self.position += 1;
        let class = if is_inherited { self.type_of()? } else { scope };
        self.add(Node::Constructor { class })
    }

    fn conversion(&mut self) -> Option<Id> {
        self.position += 2;
        let outer = std::mem::replace(&mut self.arguments_are_operators, true);
        let to = self.type_of()?;
        self.arguments_are_operators = outer;
        self.add(Node::Conversion { to })
    }

    /// `<operator-name>` other than that of a conversion.
    pub(super) fn operator_name(&mut self) -> Option<Id> {
        let code = [self.peek(), self.peek_at(1)];
        match code {
            [b'l', b'i'] => {
                self.position += 2;
                let name = self.identifier()?;
                self.add(Node::LiteralOperator(name))
            }
            [b'v', b'0'..=b'9'] => {
                self.position += 2;
                let name = self.identifier()?;
                self.add(Node::VendorOperator(name))
            }
            _ => {
                let operator = operators::find(code)?;
                self.position += 2;
                self.add(Node::Operator(operator.text))
            }
        }
    }

    /// `Ut [<number>] _`.
    fn unnamed_type(&mut self) -> Option<Id> {
        self.position += 2;
        let number = self.index()?.checked_add(1)?;
        self.add(Node::UnnamedType { number })
    }

    /// `Ul <parameters> E [<number>] _`.
    fn closure(&mut self) -> Option<Id> {
        self.position += 2;
        while self.is_at_parameter_declaration() {
            self.parameter_declaration()?;
        }
        self.requires_clause()?;
        let parameters = self.parameters()?;
        self.requires_clause()?;
        self.expect(b"E")?;
        let number = self.index()?.checked_add(1)?;
        self.add(Node::Closure { parameters, number })
    }

    /// `DC <source-name>+ E`.
    fn structured_binding(&mut self) -> Option<Id> {
        self.position += 2;
        let names = self.list_until(b"E", Self::source_name)?;
        self.add(Node::Binding(names))
    }
}
