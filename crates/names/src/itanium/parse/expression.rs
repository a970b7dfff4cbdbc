//! Expressions: arguments of templates, bounds of arrays, and what stands in `decltype`.

use super::{
    super::{
        operators::{self, Operands},
        tree::{Id, Node},
    },
    Dialect, Parser,
};

impl<'a> Parser<'a> {
    /// `<expression>`.
    pub(super) fn expression(&mut self) -> Option<Id> {
        self.nested(|parser| match parser.peek() {
            b'L' => parser.literal(),
            b'T' => parser.template_parameter(),
            b'0'..=b'9' => parser.simple_name(),
            b'u' => parser.vendor_expression(),
            b'f' => parser.fold_or_parameter(),
            _ => {
                let code = [parser.peek(), parser.peek_at(1)];
                match operators::find(code) {
                    Some(operator) if operator.operands != Operands::Special => {
                        parser.position += 2;
                        parser.operation(operator)
                    }
                    _ => parser.special_expression(code),
                }
            }
        })
    }

    fn operation(&mut self, operator: &'static operators::Operator) -> Option<Id> {
        let text = operator.text;
        match operator.operands {
            Operands::Step if !self.eat(b"_") => {
                let operand = self.expression()?;
                self.add(Node::Postfix { operator: text, operand })
            }
            Operands::Prefix | Operands::Step => {
                let operand = self.expression()?;
                self.add(Node::Prefix { operator: text, operand })
            }
            Operands::Binary => {
                let left = self.expression()?;
                let right = self.expression()?;
                self.add(Node::Binary { operator: text, left, right })
            }
            Operands::Special => None,
        }
    }

    fn special_expression(&mut self, code: [u8; 2]) -> Option<Id> {
        if matches!(&code, b"sr" | b"on" | b"dn") {
            return self.unresolved_name();
        }
        self.position += 2;
        match &code {
            b"gs" => {
                let name = self.expression()?;
                self.add(Node::Global(name))
            }
            b"cl" | b"cp" => {
                let callee = self.expression()?;
                let arguments = self.list_until(b"E", Self::expression)?;
                self.add(Node::Call { callee, arguments })
            }
            b"cv" => {
                let to = self.type_of()?;
                if self.eat(b"_") {
                    let operands = self.list_until(b"E", Self::expression)?;
                    return self.add(Node::Construct { to, operands });
                }
                let operand = self.expression()?;
                self.add(Node::Cast { to, operand })
            }
            b"sc" => self.named_cast("static_cast"),
            b"dc" => self.named_cast("dynamic_cast"),
            b"cc" => self.named_cast("const_cast"),
            b"rc" => self.named_cast("reinterpret_cast"),
            b"tl" => {
                let of = Some(self.type_of()?);
                let elements = self.list_until(b"E", Self::braced_expression)?;
                self.add(Node::Braces { of, elements })
            }
            b"il" => {
                let elements = self.list_until(b"E", Self::braced_expression)?;
                self.add(Node::Braces { of: None, elements })
            }
            b"nw" => self.new_expression("new "),
            b"na" => self.new_expression("new[] "),
            b"ix" => {
                let array = self.expression()?;
                let index = self.expression()?;
                self.add(Node::Index { array, index })
            }
            b"qu" => {
                let condition = self.expression()?;
                let then = self.expression()?;
                let otherwise = self.expression()?;
                self.add(Node::Conditional { condition, then, otherwise })
            }
            b"dt" => self.member("."),
            b"pt" => self.member("->"),
            b"ds" => {
                let left = self.expression()?;
                let right = self.expression()?;
                self.add(Node::Binary { operator: ".*", left, right })
            }
            b"st" => self.keyword("sizeof ", Self::type_of),
            b"sz" => self.keyword("sizeof ", Self::expression),
            b"at" => self.keyword("alignof ", Self::type_of),
            b"az" => self.keyword("alignof ", Self::expression),
            b"ti" => self.keyword("typeid ", Self::type_of),
            b"te" => self.keyword("typeid ", Self::expression),
            b"nx" => self.keyword("noexcept ", Self::expression),
            b"sZ" => {
                let pack = self.expression()?;
                let pack = self.tree.add_list([pack].into_iter())?;
                self.add(Node::SizeofPack(pack))
            }
            b"sP" => {
                let items = self.list_until(b"E", Self::template_argument)?;
                self.add(Node::SizeofPack(items))
            }
            b"sp" => {
                let pattern = self.expression()?;
                self.add(Node::Expansion(pattern))
            }
            b"tw" => {
                let operand = self.expression()?;
                self.add(Node::Prefix { operator: "throw ", operand })
            }
            b"tr" => self.add(Node::Throw),
            b"so" => self.subobject(),
            b"mc" => {
                let to = self.type_of()?;
                let operand = self.expression()?;
                self.signed_digits();
                self.expect(b"E")?;
                self.add(Node::Cast { to, operand })
            }
            b"rq" => self.requires(false),
            b"rQ" => self.requires(true),
            _ => None,
        }
    }

    fn named_cast(&mut self, cast: &'static str) -> Option<Id> {
        let to = self.type_of()?;
        let operand = self.expression()?;
        self.add(Node::NamedCast { cast, to, operand })
    }

    fn keyword(&mut self, keyword: &'static str, read: impl Fn(&mut Self) -> Option<Id>) -> Option<Id> {
        let operand = read(self)?;
        self.add(Node::Keyword { keyword, operand })
    }

    fn member(&mut self, operator: &'static str) -> Option<Id> {
        let object = self.expression()?;
        let name = self.expression()?;
        self.add(Node::Member { operator, object, name })
    }

    /// `<braced-expression>`: an expression, or one that says which element it is for.
    fn braced_expression(&mut self) -> Option<Id> {
        self.nested(|parser| {
            if parser.eat(b"di") {
                let field = parser.source_name()?;
                let value = parser.braced_expression()?;
                return parser.add(Node::FieldDesignator { field, value });
            }
            if parser.eat(b"dx") {
                let index = parser.expression()?;
                let value = parser.braced_expression()?;
                return parser.add(Node::IndexDesignator { index, value });
            }
            if parser.eat(b"dX") {
                let from = parser.expression()?;
                let to = parser.expression()?;
                let value = parser.braced_expression()?;
                return parser.add(Node::RangeDesignator { from, to, value });
            }
            parser.expression()
        })
    }

    /// `<type> <expression> [<offset>] (_ [<number>])* [p] E`: what has the address in a constant expression.
    fn subobject(&mut self) -> Option<Id> {
        let of = self.type_of()?;
        let object = self.expression()?;
        let offset = self.signed_digits();
        // which members of unions it is in, and whether it is the end of an array, are not shown
        while self.eat(b"_") {
            self.take_while(|byte| byte.is_ascii_digit());
        }
        self.eat(b"p");
        self.expect(b"E")?;
        self.add(Node::Subobject { of, object, offset })
    }

    /// A number with `n` in front where it is negative; empty where there is none.
    fn signed_digits(&mut self) -> &'a str {
        self.take_while(|byte| byte == b'n' || byte.is_ascii_digit())
    }

    /// `[<parameters> _] <requirement>+ E`.
    fn requires(&mut self, has_parameters: bool) -> Option<Id> {
        let parameters =
            if has_parameters { self.parameters()? } else { self.tree.add_list([].into_iter())? };
        if has_parameters {
            self.expect(b"_")?;
        }
        let requirements = self.list_until(b"E", Self::requirement)?;
        self.add(Node::Requires { parameters, requirements })
    }

    fn requirement(&mut self) -> Option<Id> {
        if self.eat(b"T") {
            let of = self.type_of()?;
            return self.add(Node::TypeRequirement(of));
        }
        if self.eat(b"Q") {
            let constraint = self.expression()?;
            return self.add(Node::NestedRequirement(constraint));
        }
        self.expect(b"X")?;
        let expression = self.expression()?;
        let is_noexcept = self.eat(b"N");
        let constraint = if self.eat(b"R") { Some(self.name(false)?.id) } else { None };
        self.add(Node::Requirement { expression, is_noexcept, constraint })
    }

    /// `<expression>* _ <type>` and `E`, or `pi <expression>* E`, or braces.
    fn new_expression(&mut self, keyword: &'static str) -> Option<Id> {
        let placement = self.list_until(b"_", Self::expression)?;
        let of = self.type_of()?;
        let initialiser = if self.eat(b"E") {
            None
        } else if self.eat(b"pi") {
            Some(self.list_until(b"E", Self::expression)?)
        } else {
            self.expect(b"il")?;
            Some(self.list_until(b"E", Self::braced_expression)?)
        };
        self.add(Node::New { keyword, placement, of, initialiser })
    }

    /// `fl`, `fr`, `fL`, `fR` with an operator, or a parameter of the function: `fp_`, `fL0p_`.
    fn fold_or_parameter(&mut self) -> Option<Id> {
        let kind = self.peek_at(1);
        let is_parameter = kind == b'p' || kind == b'L' && self.peek_at(2).is_ascii_digit();
        self.position += 2;
        if is_parameter {
            if kind == b'L' {
                self.digits()?;
                self.expect(b"p")?;
            } else if self.eat(b"T") {
                return self.add(Node::This);
            }
            self.cv_qualifiers();
            let number = self.index()?.checked_add(1)?;
            return self.add(Node::FunctionParameter { number });
        }
        let operator = operators::find([self.peek(), self.peek_at(1)])?;
        if operator.operands != Operands::Binary && operator.text != ".*" {
            return None;
        }
        self.position += 2;
        let operator = operator.text;
        let first = self.expression()?;
        let (left, right) = match kind {
            b'l' => (None, Some(first)),
            b'r' => (Some(first), None),
            b'L' | b'R' => (Some(first), Some(self.expression()?)),
            _ => return None,
        };
        self.add(Node::Fold { operator, left, right })
    }

    /// `u <source-name> <template-arg>* E`.
    fn vendor_expression(&mut self) -> Option<Id> {
        self.expect(b"u")?;
        let name = self.source_name()?;
        let arguments = self.list_until(b"E", Self::template_argument)?;
        self.add(Node::VendorCall { name, arguments })
    }

    /// An identifier, perhaps with template arguments.
    fn simple_name(&mut self) -> Option<Id> {
        let name = self.source_name()?;
        let name = self.abi_tags(name)?;
        self.with_optional_arguments(name)
    }

    fn with_optional_arguments(&mut self, name: Id) -> Option<Id> {
        if self.peek() == b'I' { self.with_arguments(name, false) } else { Some(name) }
    }

    /// `<base-unresolved-name>`: the last part of a name that could not be looked up.
    fn base_unresolved_name(&mut self) -> Option<Id> {
        match (self.peek(), self.peek_at(1)) {
            (b'0'..=b'9', _) => self.simple_name(),
            (b'd', b'n') => {
                self.position += 2;
                let class = if self.peek().is_ascii_digit() { self.simple_name()? } else { self.type_of()? };
                self.add(Node::Destructor { class })
            }
            (b'c', b'v') => Some(self.unqualified_name(None)?.id),
            _ => {
                // older compilers leave `on` away
                self.eat(b"on");
                let name = if self.peek() == b'c' && self.peek_at(1) == b'v' {
                    self.unqualified_name(None)?.id
                } else {
                    self.operator_name()?
                };
                self.with_optional_arguments(name)
            }
        }
    }

    /// `<unresolved-name>`. GCC writes `sr <type> <name>`, where the type may be referred to later. The ABI, and clang,
    /// write names of scopes up to an `E`, and `srN` where they begin with a type; none of them can be referred to.
    fn unresolved_name(&mut self) -> Option<Id> {
        if !self.eat(b"sr") {
            return self.base_unresolved_name();
        }
        self.has_scopes = true;
        let is_identifier = self.peek().is_ascii_digit();
        let (mut scope, has_further) = match self.dialect {
            Dialect::Gnu => (self.type_of()?, false),
            Dialect::Abi if is_identifier => (self.simple_name()?, true),
            Dialect::Abi => {
                let has_further = self.eat(b"N");
                (self.type_of()?, has_further)
            }
        };
        if has_further {
            while !self.eat(b"E") {
                let name = self.simple_name()?;
                scope = self.add(Node::Scoped { scope, name })?;
            }
        }
        let name = self.base_unresolved_name()?;
        self.add(Node::Scoped { scope, name })
    }
}
