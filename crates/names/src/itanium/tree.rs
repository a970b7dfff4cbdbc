//! What a mangled name was read into: nodes in one flat vector that refer to each other by number. A substitution is the
//! number of an earlier node, so a short name can stand for a huge text, but never for a huge tree.

/// The number of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Id(u32);

/// Some numbers of nodes that stand together.
#[derive(Clone, Copy)]
pub(super) struct List {
    start: u32,
    length: u32,
}

impl List {
    pub(super) fn len(self) -> usize {
        self.length as usize
    }
}

/// `const`, `volatile`, `restrict`, and what may stand behind a function's parameters.
#[derive(Clone, Copy, Default)]
pub(super) struct Qualifiers {
    pub(super) is_const: bool,
    pub(super) is_volatile: bool,
    pub(super) is_restrict: bool,
    pub(super) reference: ReferenceQualifier,
    pub(super) is_transaction_safe: bool,
    pub(super) exceptions: Exceptions,
}

/// What objects a member function may be called on.
#[derive(Clone, Copy, Default)]
pub(super) enum ReferenceQualifier {
    #[default]
    Any,
    /// `&`
    Lvalue,
    /// `&&`
    Rvalue,
}

/// What a function's type says about what it throws.
#[derive(Clone, Copy, Default)]
pub(super) enum Exceptions {
    #[default]
    Unsaid,
    Never,
    NeverIf(Id),
    These(List),
}

/// One of the names that have a letter of their own behind `S`.
#[derive(Clone, Copy)]
pub(super) struct StandardName {
    pub(super) text: &'static str,
    /// The name of its constructors.
    pub(super) constructor: &'static str,
}

#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    // names
    Name(&'a str),
    Standard(StandardName),
    Scoped {
        scope: Id,
        name: Id,
    },
    Tagged {
        name: Id,
        tag: &'a str,
    },
    WithArguments {
        name: Id,
        arguments: List,
    },
    Constructor {
        class: Id,
    },
    Destructor {
        class: Id,
    },
    Operator(&'static str),
    /// `operator"" _x`.
    LiteralOperator(&'a str),
    VendorOperator(&'a str),
    Conversion {
        to: Id,
    },
    Closure {
        parameters: List,
        number: u32,
    },
    UnnamedType {
        number: u32,
    },
    DefaultArgument {
        number: u32,
    },
    Binding(List),
    Global(Id),

    // whole names
    /// With the arguments that the template parameters in it stand for.
    Function {
        name: Id,
        arguments: Option<List>,
        parameters: List,
        qualifiers: Qualifiers,
    },
    Special {
        text: &'static str,
        of: Id,
    },
    ConstructionTable {
        base: Id,
        derived: Id,
    },
    ReferenceTemporary {
        number: u32,
        of: Id,
    },
    Clone {
        of: Id,
        suffix: &'a str,
    },

    // types
    Builtin(&'static str),
    /// Bits of `_BitInt`; of `unsigned` where it says so.
    BitInt {
        is_unsigned: bool,
        bits: Id,
    },
    FloatOfBits {
        bits: &'a str,
        suffix: &'static str,
    },
    Qualified {
        inner: Id,
        qualifiers: Qualifiers,
    },
    VendorQualified {
        inner: Id,
        qualifier: Id,
    },
    Suffixed {
        inner: Id,
        suffix: &'static str,
    },
    Pointer {
        to: Id,
    },
    Reference {
        to: Id,
        is_rvalue: bool,
    },
    FunctionType {
        result: Id,
        parameters: List,
        qualifiers: Qualifiers,
    },
    Array {
        element: Id,
        bound: Option<Id>,
    },
    MemberPointer {
        class: Id,
        to: Id,
    },
    Vector {
        element: Id,
        bound: Id,
    },
    Decltype(Id),
    Constrained {
        constraint: Id,
        text: &'static str,
    },

    // templates
    /// A template's parameter. What it stands for depends on where it is written, because a substitution may refer to the
    /// parameter of that number of another function.
    Parameter {
        index: u32,
    },
    /// A parameter of a closure further out, which has no argument.
    Auto {
        number: u32,
    },
    Pack(List),
    Expansion(Id),

    // expressions
    Literal {
        of: Id,
        value: &'a str,
    },
    StringLiteral {
        of: Id,
    },
    FunctionParameter {
        number: u32,
    },
    This,
    Prefix {
        operator: &'static str,
        operand: Id,
    },
    Postfix {
        operator: &'static str,
        operand: Id,
    },
    Binary {
        operator: &'static str,
        left: Id,
        right: Id,
    },
    Member {
        operator: &'static str,
        object: Id,
        name: Id,
    },
    Index {
        array: Id,
        index: Id,
    },
    Conditional {
        condition: Id,
        then: Id,
        otherwise: Id,
    },
    Call {
        callee: Id,
        arguments: List,
    },
    VendorCall {
        name: Id,
        arguments: List,
    },
    /// `(T)x`
    Cast {
        to: Id,
        operand: Id,
    },
    /// `T(x, y)`
    Construct {
        to: Id,
        operands: List,
    },
    NamedCast {
        cast: &'static str,
        to: Id,
        operand: Id,
    },
    Braces {
        of: Option<Id>,
        elements: List,
    },
    FieldDesignator {
        field: Id,
        value: Id,
    },
    IndexDesignator {
        index: Id,
        value: Id,
    },
    RangeDesignator {
        from: Id,
        to: Id,
        value: Id,
    },
    New {
        keyword: &'static str,
        placement: List,
        of: Id,
        initialiser: Option<List>,
    },
    /// `sizeof (x)` and the like.
    Keyword {
        keyword: &'static str,
        operand: Id,
    },
    SizeofPack(List),
    Throw,
    /// What is at an offset within an object.
    Subobject {
        of: Id,
        object: Id,
        offset: &'a str,
    },
    /// A `requires` expression.
    Requires {
        parameters: List,
        requirements: List,
    },
    Requirement {
        expression: Id,
        is_noexcept: bool,
        constraint: Option<Id>,
    },
    TypeRequirement(Id),
    NestedRequirement(Id),
    Fold {
        operator: &'static str,
        left: Option<Id>,
        right: Option<Id>,
    },
}

#[derive(Default)]
pub(super) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    items: Vec<Id>,
}

impl<'a> Tree<'a> {
    /// `None` only where there are more nodes than numbers, which no limit on names allows.
    pub(super) fn add(&mut self, node: Node<'a>) -> Option<Id> {
        let id = Id(u32::try_from(self.nodes.len()).ok()?);
        self.nodes.push(node);
        Some(id)
    }

    pub(super) fn add_list(&mut self, items: impl Iterator<Item = Id>) -> Option<List> {
        let start = u32::try_from(self.items.len()).ok()?;
        self.items.extend(items);
        let length = u32::try_from(self.items.len()).ok()? - start;
        Some(List { start, length })
    }

    pub(super) fn node(&self, id: Id) -> Node<'a> {
        self.nodes[id.0 as usize]
    }

    pub(super) fn items(&self, list: List) -> &[Id] {
        &self.items[list.start as usize..][..list.len()]
    }

    /// Adds to `found` what a node consists of, without the arguments of template parameters.
    pub(super) fn parts(&self, id: Id, found: &mut Vec<Id>) {
        use Node::*;
        match self.node(id) {
            Name(_)
            | Standard(_)
            | Operator(_)
            | LiteralOperator(_)
            | VendorOperator(_)
            | UnnamedType { .. }
            | DefaultArgument { .. }
            | Builtin(_)
            | FloatOfBits { .. }
            | Parameter { .. }
            | Auto { .. }
            | FunctionParameter { .. }
            | This
            | Throw
            | Binding(_) => {}
            Tagged { name: one, .. }
            | Constructor { class: one }
            | Destructor { class: one }
            | Conversion { to: one }
            | Global(one)
            | Special { of: one, .. }
            | ReferenceTemporary { of: one, .. }
            | Clone { of: one, .. }
            | BitInt { bits: one, .. }
            | Qualified { inner: one, .. }
            | Suffixed { inner: one, .. }
            | Pointer { to: one }
            | Reference { to: one, .. }
            | Decltype(one)
            | Constrained { constraint: one, .. }
            | Expansion(one)
            | Literal { of: one, .. }
            | StringLiteral { of: one }
            | TypeRequirement(one)
            | NestedRequirement(one)
            | Prefix { operand: one, .. }
            | Postfix { operand: one, .. }
            | Keyword { operand: one, .. } => found.push(one),
            Scoped { scope: one, name: other }
            | ConstructionTable { base: one, derived: other }
            | VendorQualified { inner: one, qualifier: other }
            | MemberPointer { class: one, to: other }
            | Vector { element: one, bound: other }
            | Binary { left: one, right: other, .. }
            | Member { object: one, name: other, .. }
            | Subobject { of: one, object: other, .. }
            | Index { array: one, index: other }
            | Cast { to: one, operand: other }
            | NamedCast { to: one, operand: other, .. }
            | FieldDesignator { field: one, value: other }
            | IndexDesignator { index: one, value: other } => found.extend([one, other]),
            Conditional { condition: one, then: other, otherwise: third }
            | RangeDesignator { from: one, to: other, value: third } => found.extend([one, other, third]),
            Requirement { expression, constraint, .. } => {
                found.extend([expression].into_iter().chain(constraint))
            }
            Requires { parameters, requirements } => {
                found.extend(self.items(parameters));
                found.extend(self.items(requirements));
            }
            Array { element, bound } => found.extend([element].into_iter().chain(bound)),
            Closure { parameters: list, .. } | Pack(list) | SizeofPack(list) => {
                found.extend(self.items(list))
            }
            WithArguments { name: one, arguments: list }
            | Function { name: one, parameters: list, .. }
            | FunctionType { result: one, parameters: list, .. }
            | Call { callee: one, arguments: list }
            | VendorCall { name: one, arguments: list }
            | Construct { to: one, operands: list } => {
                found.push(one);
                found.extend(self.items(list));
            }
            Braces { of, elements } => {
                found.extend(of);
                found.extend(self.items(elements));
            }
            New { placement, of, initialiser, .. } => {
                found.push(of);
                found.extend(self.items(placement));
                found.extend(initialiser.iter().flat_map(|list| self.items(*list)));
            }
            Fold { left, right, .. } => found.extend(left.into_iter().chain(right)),
        }
    }
}
