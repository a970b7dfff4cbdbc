//! Expressions. Operands are in brackets unless they are names or parameters.

use super::{
    super::tree::{Id, List, Node},
    Printer,
};

impl<'a> Printer<'_, 'a> {
    pub(super) fn print_expression(&mut self, node: Node<'a>) -> Option<()> {
        match node {
            Node::Literal { of, value } => self.print_literal(of, value),
            Node::StringLiteral { of } => self.print_string_literal(of),
            Node::FunctionParameter { number } => self.print_numbered("{parm#", number),
            Node::This => self.write("this"),
            Node::Throw => self.write("throw"),
            Node::Prefix { operator, operand } => {
                self.write(operator)?;
                self.print_operand(operand)
            }
            Node::Postfix { operator, operand } => {
                self.print_operand(operand)?;
                self.write(operator)
            }
            Node::Binary { operator, left, right } => self.print_binary(operator, left, right),
            Node::Member { operator, object, name } => {
                self.print_operand(object)?;
                self.write(operator)?;
                self.print(name)
            }
            Node::Index { array, index } => {
                self.print_operand(array)?;
                self.write("[")?;
                self.print(index)?;
                self.write("]")
            }
            Node::Conditional { condition, then, otherwise } => {
                self.print_operand(condition)?;
                self.write("?")?;
                self.print_operand(then)?;
                self.write(" : ")?;
                self.print_operand(otherwise)
            }
            Node::Keyword { keyword, operand } => {
                self.write(keyword)?;
                self.print_bracketed(operand)
            }
            Node::SizeofPack(pack) => {
                self.write("sizeof...")?;
                self.print_in_brackets(pack)
            }
            Node::Fold { operator, left, right } => self.print_fold(operator, left, right),
            node => self.print_expression_with_type(node),
        }
    }

    fn print_expression_with_type(&mut self, node: Node<'a>) -> Option<()> {
        match node {
            Node::Call { callee, arguments } => self.print_call(callee, arguments),
            Node::VendorCall { name, arguments } => {
                self.print(name)?;
                self.print_in_brackets(arguments)
            }
            Node::Cast { to, operand } => {
                self.print_bracketed(to)?;
                self.print_operand(operand)
            }
            Node::Construct { to, operands } => {
                self.print(to)?;
                self.print_in_brackets(operands)
            }
            Node::NamedCast { cast, to, operand } => {
                self.write(cast)?;
                self.write("<")?;
                self.print(to)?;
                self.write(">")?;
                self.print_bracketed(operand)
            }
            Node::Braces { of, elements } => {
                if let Some(of) = of {
                    self.print(of)?;
                }
                self.write("{")?;
                self.print_list(elements)?;
                self.write("}")
            }
            Node::FieldDesignator { field, value } => {
                self.write(".")?;
                self.print(field)?;
                self.print_designated(value)
            }
            Node::IndexDesignator { index, value } => {
                self.write("[")?;
                self.print(index)?;
                self.write("]")?;
                self.print_designated(value)
            }
            Node::RangeDesignator { from, to, value } => {
                self.write("[")?;
                self.print(from)?;
                self.write(" ... ")?;
                self.print(to)?;
                self.write("]")?;
                self.print_designated(value)
            }
            Node::New { keyword, placement, of, initialiser } => {
                self.write(keyword)?;
                if placement.len() > 0 {
                    self.print_in_brackets(placement)?;
                    self.write(" ")?;
                }
                self.print(of)?;
                initialiser.map_or(Some(()), |values| self.print_in_brackets(values))
            }
            Node::Subobject { of, object, offset } => {
                self.print_operand(object)?;
                self.write(".<")?;
                self.print(of)?;
                self.write(" at offset ")?;
                self.write_signed(if offset.is_empty() { "0" } else { offset })?;
                self.write(">")
            }
            Node::Requires { parameters, requirements } => self.print_requires(parameters, requirements),
            Node::Requirement { expression, is_noexcept, constraint } => {
                self.print_requirement(expression, is_noexcept, constraint)
            }
            Node::TypeRequirement(of) => self.write(" typename ").and_then(|()| self.print(of)),
            Node::NestedRequirement(constraint) => {
                self.write(" requires ")?;
                self.print(constraint)
            }
            // names and types, which are written elsewhere
            _ => None,
        }
    }

    fn print_bracketed(&mut self, id: Id) -> Option<()> {
        self.write("(")?;
        self.print(id)?;
        self.write(")")
    }

    /// In brackets, unless it is a name or a parameter.
    fn print_operand(&mut self, id: Id) -> Option<()> {
        let (resolved, _) = self.resolve_here(id)?;
        match self.tree.node(resolved) {
            Node::Name(_)
            | Node::Scoped { .. }
            | Node::Function { .. }
            | Node::FunctionParameter { .. }
            | Node::This
            | Node::Braces { of: None, .. } => self.print(id),
            _ => self.print_bracketed(id),
        }
    }

    /// What a field or an element is set to; another field or element of it may stand between.
    fn print_designated(&mut self, value: Id) -> Option<()> {
        match self.tree.node(value) {
            Node::FieldDesignator { .. } | Node::IndexDesignator { .. } | Node::RangeDesignator { .. } => {
                self.print(value)
            }
            _ => {
                self.write("=")?;
                self.print_operand(value)
            }
        }
    }

    fn print_binary(&mut self, operator: &str, left: Id, right: Id) -> Option<()> {
        // would end the arguments of a template
        let is_in_brackets = operator == ">";
        if is_in_brackets {
            self.write("(")?;
        }
        self.print_operand(left)?;
        self.write(operator)?;
        self.print_operand(right)?;
        if is_in_brackets { self.write(")") } else { Some(()) }
    }

    fn print_call(&mut self, callee: Id, arguments: List) -> Option<()> {
        match self.tree.node(callee) {
            // a function that is named with its parameters' types
            Node::Function { name, .. } => self.print_operand(name)?,
            _ => self.print_operand(callee)?,
        }
        self.print_in_brackets(arguments)
    }

    fn print_fold(&mut self, operator: &str, left: Option<Id>, right: Option<Id>) -> Option<()> {
        self.write("(")?;
        if let Some(left) = left {
            self.print_operand(left)?;
            self.write(operator)?;
        }
        self.write("...")?;
        if let Some(right) = right {
            self.write(operator)?;
            self.print_operand(right)?;
        }
        self.write(")")
    }

    fn print_literal(&mut self, of: Id, value: &str) -> Option<()> {
        let node = self.tree.node(of);
        match (node, value) {
            (Node::Builtin("bool"), "0") => return self.write("false"),
            (Node::Builtin("bool"), "1") => return self.write("true"),
            (Node::Builtin("int"), _) => {}
            _ => self.print_bracketed(of)?,
        }
        if matches!(node, Node::Builtin("float" | "double" | "long double" | "__float128")) {
            self.write("[")?;
            self.write(value)?;
            return self.write("]");
        }
        self.write_signed(value)
    }

    /// A number that has `n` in front where it is negative.
    fn write_signed(&mut self, value: &str) -> Option<()> {
        match value.strip_prefix('n') {
            Some(digits) => {
                self.write("-")?;
                self.write(digits)
            }
            None => self.write(value),
        }
    }

    fn print_requires(&mut self, parameters: List, requirements: List) -> Option<()> {
        self.write("requires ")?;
        if parameters.len() > 0 {
            self.print_in_brackets(parameters)?;
            self.write(" ")?;
        }
        self.write("{")?;
        let tree = self.tree;
        for requirement in tree.items(requirements) {
            self.print(*requirement)?;
            self.write(";")?;
        }
        self.write(" }")
    }

    fn print_requirement(&mut self, expression: Id, is_noexcept: bool, constraint: Option<Id>) -> Option<()> {
        if !is_noexcept && constraint.is_none() {
            self.write(" ")?;
            return self.print(expression);
        }
        self.write(" {")?;
        self.print(expression)?;
        self.write(if is_noexcept { "} noexcept" } else { "}" })?;
        if let Some(constraint) = constraint {
            self.write(" -> ")?;
            self.print(constraint)?;
        }
        Some(())
    }

    fn print_string_literal(&mut self, of: Id) -> Option<()> {
        self.write("\"")?;
        self.print(of)?;
        self.write("\"")
    }
}
