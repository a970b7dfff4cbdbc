//! Types, which stand around what they declare, and what is there instead of template parameters.

use super::{
    super::tree::{Id, List, Node},
    Context, Printer,
};

impl<'a> Printer<'_, 'a> {
    /// Writes a type up to the place of the declared name.
    pub(super) fn print_type_before(&mut self, node: Node<'a>) -> Option<()> {
        match node {
            Node::Pointer { to } => self.print_declarator_before(to, "*"),
            Node::Reference { to, is_rvalue } => self.print_reference_before(to, is_rvalue),
            Node::MemberPointer { class, to } => self.print_member_pointer_before(class, to),
            Node::Qualified { inner, qualifiers } => {
                self.print_before(inner).and_then(|()| self.write_qualifiers(qualifiers))
            }
            Node::VendorQualified { inner, qualifier } => {
                self.print_before(inner).and_then(|()| self.write(" ")).and_then(|()| self.print(qualifier))
            }
            Node::Suffixed { inner, suffix } => self.print(inner).and_then(|()| self.write(suffix)),
            Node::FunctionType { result, .. } => self.print_result_before(result),
            Node::Array { element, .. } => self.print_before(element),
            Node::Vector { element, bound } => self.print_vector(element, bound),
            Node::BitInt { is_unsigned, bits } => self.print_bit_int(is_unsigned, bits),
            Node::FloatOfBits { bits, suffix } => self.print_float(bits, suffix),
            Node::Decltype(expression) => self.print_decltype(expression),
            Node::Constrained { constraint, text } => self.print(constraint).and_then(|()| self.write(text)),
            Node::Parameter { index } => {
                self.write("auto:").and_then(|()| self.write_number(index.checked_add(1)?))
            }
            Node::Auto { number } => self.write("auto:").and_then(|()| self.write_number(number)),
            Node::Pack(items) => self.print_list(items),
            Node::Expansion(pattern) => self.print_expansion(pattern),
            node => self.print_expression(node),
        }
    }

    /// Whether anything of a type stands behind the place of the declared name.
    pub(super) fn has_behind(&mut self, id: Id) -> Option<bool> {
        let (id, _) = self.resolve_here(id)?;
        Some(matches!(
            self.tree.node(id),
            Node::Pointer { .. }
                | Node::Reference { .. }
                | Node::MemberPointer { .. }
                | Node::Qualified { .. }
                | Node::VendorQualified { .. }
                | Node::FunctionType { .. }
                | Node::Array { .. }
        ))
    }

    /// Writes the rest of a type behind the place of the declared name.
    pub(super) fn print_behind(&mut self, id: Id) -> Option<()> {
        self.with_resolved(id, |printer, id| match printer.tree.node(id) {
            Node::Pointer { to } | Node::MemberPointer { to, .. } => printer.print_declarator_behind(to),
            Node::Reference { to, is_rvalue } => {
                let (to, context, _) = printer.collapse(to, is_rvalue)?;
                printer.within(context, |printer| printer.print_declarator_behind(to))
            }
            Node::Qualified { inner, .. } | Node::VendorQualified { inner, .. } => {
                printer.print_behind(inner)
            }
            Node::FunctionType { result, parameters, qualifiers } => {
                printer.print_in_brackets(parameters)?;
                printer.write_qualifiers(qualifiers)?;
                printer.print_behind(result)
            }
            Node::Array { element, bound } => {
                printer.print_bound(bound)?;
                printer.print_behind(element)
            }
            _ => Some(()),
        })
    }

    /// A pointer to a function opens a bracket that the name stands in, with no space before it.
    fn print_result_before(&mut self, result: Id) -> Option<()> {
        self.print_before(result)?;
        let (mut id, mut context) = self.resolve_here(result)?;
        loop {
            self.step()?;
            let inner = match self.tree.node(id) {
                Node::Pointer { to } | Node::Reference { to, .. } | Node::MemberPointer { to, .. } => to,
                Node::Qualified { inner, .. } | Node::VendorQualified { inner, .. } => inner,
                Node::FunctionType { .. } | Node::Array { .. } => return Some(()),
                _ => return self.write(" "),
            };
            (id, context) = self.resolve(inner, context)?;
        }
    }

    fn print_bound(&mut self, bound: Option<Id>) -> Option<()> {
        self.write(if self.text.ends_with(']') { "[" } else { " [" })?;
        if let Some(bound) = bound {
            self.print(bound)?;
        }
        self.write("]")
    }

    fn print_declarator_before(&mut self, to: Id, mark: &str) -> Option<()> {
        self.print_before(to)?;
        self.open_declarator(to)?;
        self.write(mark)
    }

    /// Pointers to functions and arrays are in brackets.
    fn open_declarator(&mut self, to: Id) -> Option<()> {
        match self.declared(to)? {
            Node::FunctionType { .. } => self.write("("),
            Node::Array { .. } => self.write(" ("),
            _ => Some(()),
        }
    }

    fn print_declarator_behind(&mut self, to: Id) -> Option<()> {
        if matches!(self.declared(to)?, Node::FunctionType { .. } | Node::Array { .. }) {
            self.write(")")?;
        }
        self.print_behind(to)
    }

    /// A type without what stands before it.
    fn declared(&mut self, id: Id) -> Option<Node<'a>> {
        let (mut id, mut context) = self.resolve_here(id)?;
        loop {
            self.step()?;
            match self.tree.node(id) {
                Node::Qualified { inner, .. } | Node::VendorQualified { inner, .. } => {
                    (id, context) = self.resolve(inner, context)?;
                }
                node => return Some(node),
            }
        }
    }

    fn print_reference_before(&mut self, to: Id, is_rvalue: bool) -> Option<()> {
        let (to, context, is_rvalue) = self.collapse(to, is_rvalue)?;
        self.within(context, |printer| {
            printer.print_declarator_before(to, if is_rvalue { "&&" } else { "&" })
        })
    }

    /// A reference to a reference is one, and only two of rvalues make one of them.
    fn collapse(&mut self, mut to: Id, mut is_rvalue: bool) -> Option<(Id, Context, bool)> {
        let mut context = self.context;
        loop {
            self.step()?;
            (to, context) = self.resolve(to, context)?;
            let Node::Reference { to: inner, is_rvalue: is_inner_rvalue } = self.tree.node(to) else {
                return Some((to, context, is_rvalue));
            };
            is_rvalue &= is_inner_rvalue;
            to = inner;
        }
    }

    fn print_member_pointer_before(&mut self, class: Id, to: Id) -> Option<()> {
        self.print_before(to)?;
        match self.declared(to)? {
            Node::FunctionType { .. } => self.write("(")?,
            Node::Array { .. } => self.write(" (")?,
            _ => self.write(" ")?,
        }
        self.print(class)?;
        self.write("::*")
    }

    fn print_vector(&mut self, element: Id, bound: Id) -> Option<()> {
        self.print(element)?;
        self.write(" __vector(")?;
        self.print(bound)?;
        self.write(")")
    }

    fn print_bit_int(&mut self, is_unsigned: bool, bits: Id) -> Option<()> {
        self.write(if is_unsigned { "unsigned _BitInt(" } else { "signed _BitInt(" })?;
        self.print(bits)?;
        self.write(")")
    }

    fn print_float(&mut self, bits: &str, suffix: &str) -> Option<()> {
        if suffix == "b" {
            return self.write("std::bfloat16_t");
        }
        self.write("_Float")?;
        self.write(bits)?;
        self.write(suffix)
    }

    fn print_decltype(&mut self, expression: Id) -> Option<()> {
        self.write("decltype (")?;
        self.print(expression)?;
        self.write(")")
    }

    /// Once for each argument of the first pack in the pattern; with `...` where there is none.
    fn print_expansion(&mut self, pattern: Id) -> Option<()> {
        let Some(pack) = self.first_pack(pattern)? else {
            self.print(pattern)?;
            return self.write("...");
        };
        let start = self.text.len();
        for index in 0..pack.len() {
            let context = Context { pack_index: Some(index), ..self.context };
            self.print_part(start, |printer| printer.within(context, |printer| printer.print(pattern)))?;
        }
        Some(())
    }

    /// The first pack that the pattern of an expansion refers to, unless within an expansion of its own.
    fn first_pack(&mut self, pattern: Id) -> Option<Option<List>> {
        let mut found = vec![pattern];
        while let Some(id) = found.pop() {
            self.step()?;
            match self.tree.node(id) {
                Node::Parameter { index } if !self.context.is_closure => {
                    let (argument, _) = self.argument(index, self.context)?;
                    if let Node::Pack(items) = self.tree.node(argument) {
                        return Some(Some(items));
                    }
                }
                Node::Expansion(_) => {}
                _ => {
                    let start = found.len();
                    self.tree.parts(id, &mut found);
                    found[start..].reverse();
                }
            }
        }
        Some(None)
    }
}
