//! Parameters and arguments of templates.

use super::{
    super::tree::{Id, Node},
    Parser,
};

impl Parser<'_> {
    /// `T_`, `T0_`, or with a level `TL0__`.
    pub(super) fn template_parameter(&mut self) -> Option<Id> {
        self.step()?;
        self.expect(b"T")?;
        if self.eat(b"L") {
            self.index()?;
            let number = self.index()?.checked_add(1)?;
            return self.add(Node::Auto { number });
        }
        let index = self.index()?;
        self.add(Node::Parameter { index })
    }

    /// A name with the `<template-args>` that follow it. Those of a function's or variable's own name are what template
    /// parameters refer to.
    pub(super) fn with_arguments(&mut self, name: Id, is_encoding: bool) -> Option<Id> {
        self.expect(b"I")?;
        let are_operators = std::mem::take(&mut self.arguments_are_operators);
        let start = self.pending.len();
        while !self.eat(b"E") {
            if self.peek() == b'Q' {
                self.requires_clause()?;
                continue;
            }
            let argument = self.template_argument()?;
            self.pending.push(argument);
        }
        let arguments = self.tree.add_list(self.pending.drain(start..))?;
        self.arguments_are_operators = are_operators;
        if is_encoding {
            self.arguments = Some(arguments);
        }
        self.add(Node::WithArguments { name, arguments })
    }

    /// `<template-arg>`: a type, an expression, a literal, or a pack of them.
    pub(super) fn template_argument(&mut self) -> Option<Id> {
        self.step()?;
        match self.peek() {
            b'X' => {
                self.position += 1;
                let expression = self.expression()?;
                self.expect(b"E")?;
                Some(expression)
            }
            b'L' => self.literal(),
            // older compilers write packs like arguments
            b'J' | b'I' => self.nested(|parser| {
                parser.position += 1;
                let items = parser.list_until(b"E", Self::template_argument)?;
                parser.add(Node::Pack(items))
            }),
            b'T' if self.is_at_parameter_declaration() => {
                self.parameter_declaration()?;
                self.nested(Self::template_argument)
            }
            _ => self.type_of(),
        }
    }

    pub(super) fn is_at_parameter_declaration(&self) -> bool {
        self.peek() == b'T' && matches!(self.peek_at(1), b'y' | b'n' | b't' | b'p' | b'k')
    }

    /// `<template-param-decl>`, which is not shown.
    pub(super) fn parameter_declaration(&mut self) -> Option<()> {
        self.nested(|parser| {
            parser.expect(b"T")?;
            let kind = parser.peek();
            parser.position += 1;
            match kind {
                b'y' => Some(()),
                b'n' => parser.type_of().map(|_| ()),
                b'p' => parser.parameter_declaration(),
                b'k' => parser.name(false).map(|_| ()),
                b't' => {
                    while !parser.eat(b"E") {
                        match parser.peek() {
                            b'Q' => parser.requires_clause()?,
                            _ => parser.parameter_declaration()?,
                        }
                    }
                    Some(())
                }
                _ => None,
            }
        })
    }
}
