//! Types.

use super::{
    super::tree::{Exceptions, Id, Node, Qualifiers},
    Parser,
};

impl Parser<'_> {
    /// `<type>`. All but builtin ones may be referred to later.
    pub(super) fn type_of(&mut self) -> Option<Id> {
        self.nested(|parser| {
            if let Some(text) = builtin(parser.peek()) {
                parser.position += 1;
                return parser.add(Node::Builtin(text));
            }
            match parser.peek() {
                b'S' if parser.peek_at(1) != b't' => parser.substituted_type(),
                b'D' => parser.type_with_two_letters(),
                b'T' if !matches!(parser.peek_at(1), b's' | b'u' | b'e') => parser.parameter_type(),
                _ => {
                    let id = parser.composed_type()?;
                    parser.add_substitution(id);
                    Some(id)
                }
            }
        })
    }

    /// A type that was read before, or a template that was, with its arguments.
    fn substituted_type(&mut self) -> Option<Id> {
        let substitution = self.substitution()?;
        let has_arguments =
            self.peek() == b'I' && (substitution.is_template || !self.arguments_are_operators);
        if !has_arguments {
            return Some(substitution.id);
        }
        let id = self.with_arguments(substitution.id, false)?;
        self.add_substitution(id);
        Some(id)
    }

    fn parameter_type(&mut self) -> Option<Id> {
        let parameter = self.template_parameter()?;
        self.add_substitution(parameter);
        if self.peek() != b'I' || self.arguments_are_operators {
            return Some(parameter);
        }
        let id = self.with_arguments(parameter, false)?;
        self.add_substitution(id);
        Some(id)
    }

    fn composed_type(&mut self) -> Option<Id> {
        match self.peek() {
            b'r' | b'V' | b'K' => {
                let qualifiers = self.cv_qualifiers();
                if self.is_at_function_type() {
                    return self.function_type(qualifiers);
                }
                let inner = self.type_of()?;
                self.add(Node::Qualified { inner, qualifiers })
            }
            b'U' if !matches!(self.peek_at(1), b't' | b'l') => self.vendor_qualified(),
            b'P' => {
                self.position += 1;
                let to = self.type_of()?;
                self.add(Node::Pointer { to })
            }
            mark @ (b'R' | b'O') => {
                self.position += 1;
                let to = self.type_of()?;
                self.add(Node::Reference { to, is_rvalue: mark == b'O' })
            }
            mark @ (b'C' | b'G') => {
                self.position += 1;
                let inner = self.type_of()?;
                self.add(Node::Suffixed {
                    inner,
                    suffix: if mark == b'C' { " complex" } else { " imaginary" },
                })
            }
            b'F' => self.function_type(Qualifiers::default()),
            b'A' => self.array_type(),
            b'M' => {
                self.position += 1;
                let class = self.type_of()?;
                let to = self.type_of()?;
                self.add(Node::MemberPointer { class, to })
            }
            b'u' => {
                self.position += 1;
                let name = self.source_name()?;
                if self.peek() == b'I' { self.with_arguments(name, false) } else { Some(name) }
            }
            b'T' => {
                // struct, union or enum, said where the name alone would mean something else
                self.position += 2;
                Some(self.name(false)?.id)
            }
            _ => Some(self.name(false)?.id),
        }
    }

    /// `U <source-name> [<template-args>] <type>`.
    fn vendor_qualified(&mut self) -> Option<Id> {
        self.expect(b"U")?;
        let mut qualifier = self.source_name()?;
        if self.peek() == b'I' {
            qualifier = self.with_arguments(qualifier, false)?;
        }
        // all qualifiers before a type are one thing to refer to
        let inner = match self.peek() {
            b'U' | b'r' | b'V' | b'K' => self.nested(Self::composed_type)?,
            _ => self.type_of()?,
        };
        self.add(Node::VendorQualified { inner, qualifier })
    }

    fn is_at_function_type(&self) -> bool {
        self.peek() == b'F' || self.peek() == b'D' && matches!(self.peek_at(1), b'o' | b'O' | b'w' | b'x')
    }

    /// `[<exception-spec>] [Dx] F [Y] <result> <parameters> [<ref-qualifier>] E`.
    fn function_type(&mut self, mut qualifiers: Qualifiers) -> Option<Id> {
        self.step()?;
        qualifiers.exceptions = if self.eat(b"Do") {
            Exceptions::Never
        } else if self.eat(b"DO") {
            let condition = self.expression()?;
            self.expect(b"E")?;
            Exceptions::NeverIf(condition)
        } else if self.eat(b"Dw") {
            Exceptions::These(self.list_until(b"E", Self::type_of)?)
        } else {
            Exceptions::Unsaid
        };
        qualifiers.is_transaction_safe = self.eat(b"Dx");
        self.expect(b"F")?;
        // C linkage
        self.eat(b"Y");
        let result = self.type_of()?;
        let parameters = self.parameters()?;
        qualifiers.reference = self.reference_qualifier();
        self.expect(b"E")?;
        self.add(Node::FunctionType { result, parameters, qualifiers })
    }

    /// `A [<number> or <expression>] _ <type>`.
    fn array_type(&mut self) -> Option<Id> {
        self.expect(b"A")?;
        let bound = if self.peek() == b'_' { None } else { Some(self.number_or_expression()?) };
        self.expect(b"_")?;
        let element = self.type_of()?;
        self.add(Node::Array { element, bound })
    }

    fn number_or_expression(&mut self) -> Option<Id> {
        if !self.peek().is_ascii_digit() {
            return self.expression();
        }
        let digits = self.digits()?;
        self.add(Node::Name(digits))
    }

    fn type_with_two_letters(&mut self) -> Option<Id> {
        let code = self.peek_at(1);
        if let Some(text) = builtin_with_d(code) {
            self.position += 2;
            let id = self.add(Node::Builtin(text))?;
            return Some(id);
        }
        match code {
            b'F' => return self.float_of_bits(),
            b'B' | b'U' => return self.bit_int(),
            b'k' | b'K' => return self.constrained_placeholder(),
            _ => {}
        }
        let id = match code {
            b't' | b'T' => {
                let id = self.decltype()?;
                if self.peek() == b'I' {
                    self.add_substitution(id);
                    self.with_arguments(id, false)?
                } else {
                    id
                }
            }
            b'p' => {
                self.position += 2;
                let pattern = self.type_of()?;
                self.add(Node::Expansion(pattern))?
            }
            b'v' => {
                self.position += 2;
                let bound = self.number_or_expression()?;
                self.expect(b"_")?;
                // pixels, of AltiVec
                let element =
                    if self.eat(b"p") { self.add(Node::Builtin("pixel"))? } else { self.type_of()? };
                self.add(Node::Vector { element, bound })?
            }
            b'o' | b'O' | b'w' | b'x' => self.function_type(Qualifiers::default())?,
            _ => return None,
        };
        self.add_substitution(id);
        Some(id)
    }

    /// `Dt <expression> E` or `DT <expression> E`.
    pub(super) fn decltype(&mut self) -> Option<Id> {
        self.position += 2;
        let expression = self.expression()?;
        self.expect(b"E")?;
        self.add(Node::Decltype(expression))
    }

    /// `DF <bits> _`, `x` for extended, `b` for `bfloat16`.
    fn float_of_bits(&mut self) -> Option<Id> {
        self.position += 2;
        let bits = self.digits()?;
        let suffix = match self.peek() {
            b'_' => "",
            b'x' => "x",
            b'b' => "b",
            _ => return None,
        };
        self.position += 1;
        self.add(Node::FloatOfBits { bits, suffix })
    }

    /// `DB <bits> _`, `DU <bits> _`.
    fn bit_int(&mut self) -> Option<Id> {
        let is_unsigned = self.peek_at(1) == b'U';
        self.position += 2;
        let bits = self.number_or_expression()?;
        self.expect(b"_")?;
        self.add(Node::BitInt { is_unsigned, bits })
    }

    /// `Dk <name>` for a constrained `auto`, `DK <name>` for `decltype(auto)`.
    fn constrained_placeholder(&mut self) -> Option<Id> {
        let text = if self.peek_at(1) == b'k' { " auto" } else { " decltype(auto)" };
        self.position += 2;
        let constraint = self.name(false)?.id;
        self.add(Node::Constrained { constraint, text })
    }
}

/// The builtin types of one letter.
fn builtin(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'v' => "void",
        b'w' => "wchar_t",
        b'b' => "bool",
        b'c' => "char",
        b'a' => "signed char",
        b'h' => "unsigned char",
        b's' => "short",
        b't' => "unsigned short",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'x' => "long long",
        b'y' => "unsigned long long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b'f' => "float",
        b'd' => "double",
        b'e' => "long double",
        b'g' => "__float128",
        b'z' => "...",
        _ => return None,
    })
}

/// Those of a letter behind `D`.
fn builtin_with_d(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'd' => "decimal64",
        b'e' => "decimal128",
        b'f' => "decimal32",
        b'h' => "half",
        b'i' => "char32_t",
        b's' => "char16_t",
        b'u' => "char8_t",
        b'a' => "auto",
        b'c' => "decltype(auto)",
        b'n' => "std::nullptr_t",
        _ => return None,
    })
}
