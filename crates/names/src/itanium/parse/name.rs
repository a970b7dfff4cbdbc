//! Names with the scopes that they stand in.

use super::{
    super::tree::{Id, Node, Qualifiers, ReferenceQualifier},
    Parser,
};

/// A name and what it says about the function that it names.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) id: Id,
    /// Whether it ends with arguments of a template: only then the result's type follows.
    pub(super) has_arguments: bool,
    /// Constructors, destructors and conversions never have a result's type.
    pub(super) is_without_result: bool,
    /// Of the member function.
    pub(super) qualifiers: Qualifiers,
}

impl Name {
    pub(super) fn plain(id: Id) -> Self {
        Self { id, has_arguments: false, is_without_result: false, qualifiers: Qualifiers::default() }
    }
}

impl Parser<'_> {
    /// `<name>`. Where it is that of a function or variable itself and not of a type, template parameters refer to its
    /// arguments from then on.
    pub(super) fn name(&mut self, is_encoding: bool) -> Option<Name> {
        self.step()?;
        match self.peek() {
            b'N' => self.nested_name(is_encoding),
            b'Z' => self.nested(|parser| parser.local_name(is_encoding)),
            _ => self.unscoped_name(is_encoding),
        }
    }

    fn unscoped_name(&mut self, is_encoding: bool) -> Option<Name> {
        if self.peek() == b'S' && self.peek_at(1) != b't' {
            let template = self.substitution()?;
            let id = self.with_arguments(template.id, is_encoding)?;
            return Some(Name { has_arguments: true, ..Name::plain(id) });
        }
        let scope = if self.eat(b"St") { Some(self.add(Node::Name("std"))?) } else { None };
        let part = self.unqualified_name(scope)?;
        let id = self.scoped(scope, part.id)?;
        if self.peek() != b'I' {
            return Some(Name { is_without_result: part.is_without_result, ..Name::plain(id) });
        }
        self.add_substitution(id);
        let id = self.with_arguments(id, is_encoding)?;
        Some(Name { has_arguments: true, is_without_result: part.is_without_result, ..Name::plain(id) })
    }

    /// `N … E`. Every scope on the way may be referred to later; the whole is the business of who asked for it.
    fn nested_name(&mut self, is_encoding: bool) -> Option<Name> {
        self.expect(b"N")?;
        // explicit object parameters are said with an `H` in place of qualifiers
        self.eat(b"H");
        let mut qualifiers = self.cv_qualifiers();
        qualifiers.reference = self.reference_qualifier();

        let mut name: Option<Name> = None;
        // whether what was read so far has no number yet
        let mut is_new = false;
        while !self.eat(b"E") {
            self.step()?;
            if self.eat(b"M") {
                // a closure in a member's initialiser: the member is read already
                name?;
                continue;
            }
            if let (true, Some(before)) = (is_new, name) {
                self.add_substitution(before.id);
            }
            is_new = true;
            name = Some(match (self.peek(), name) {
                (b'S', None) if self.peek_at(1) == b't' => {
                    self.position += 2;
                    is_new = false;
                    Name::plain(self.add(Node::Name("std"))?)
                }
                (b'S', None) => {
                    is_new = false;
                    Name::plain(self.substitution()?.id)
                }
                (b'T', None) => Name::plain(self.template_parameter()?),
                (b'D', None) if matches!(self.peek_at(1), b't' | b'T') => Name::plain(self.decltype()?),
                (b'Z', None) => self.nested(|parser| parser.local_name(is_encoding))?,
                (b'I', Some(before)) if !before.has_arguments => {
                    Name { id: self.with_arguments(before.id, is_encoding)?, has_arguments: true, ..before }
                }
                (_, before) => {
                    let scope = before.map(|name| name.id);
                    let part = self.unqualified_name(scope)?;
                    let id = self.scoped(scope, part.id)?;
                    Name { is_without_result: part.is_without_result, ..Name::plain(id) }
                }
            });
        }
        Some(Name { qualifiers, ..name? })
    }

    fn scoped(&mut self, scope: Option<Id>, name: Id) -> Option<Id> {
        match scope {
            Some(scope) => self.add(Node::Scoped { scope, name }),
            None => Some(name),
        }
    }

    /// `r`, `V`, `K`, in this order.
    pub(super) fn cv_qualifiers(&mut self) -> Qualifiers {
        Qualifiers {
            is_restrict: self.eat(b"r"),
            is_volatile: self.eat(b"V"),
            is_const: self.eat(b"K"),
            ..Qualifiers::default()
        }
    }

    pub(super) fn reference_qualifier(&mut self) -> ReferenceQualifier {
        if self.eat(b"R") {
            ReferenceQualifier::Lvalue
        } else if self.eat(b"O") {
            ReferenceQualifier::Rvalue
        } else {
            ReferenceQualifier::Any
        }
    }
}
