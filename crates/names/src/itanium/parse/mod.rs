//! Reads a mangled name into a tree. Each method is named after the rule of the grammar that it reads; `None` means that
//! the name is none, is nested too deeply, or needs more steps than it may take, and ends the reading altogether: no part
//! is tried again in another way. The whole is, once, where a rule differs between compilers ([`Dialect`]).

mod encoding;
mod expression;
mod literal;
mod name;
mod template;
mod types;
mod unqualified;

use super::tree::{Id, List, Node, StandardName, Tree};
use crate::limits::PARSE_DEPTH_MAX;

/// Something that `S_` may refer to.
#[derive(Clone, Copy)]
struct Substitution {
    id: Id,
    /// Whether it was followed by arguments of a template where it stood first.
    is_template: bool,
}

/// How names are written that the compiler could not look up; nothing else tells which compiler wrote the name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// As GCC does.
    Gnu,
    /// As the ABI says, and as clang does.
    Abi,
}

pub(super) struct Parser<'a> {
    text: &'a str,
    dialect: Dialect,
    /// Whether anything depended on the dialect.
    pub(super) has_scopes: bool,
    position: usize,
    pub(super) steps_left: usize,
    depth: usize,
    pub(super) tree: Tree<'a>,
    substitutions: Vec<Substitution>,
    /// Parts of lists that are not complete yet.
    pending: Vec<Id>,
    /// The last arguments in the name of the function that is read.
    arguments: Option<List>,
    /// Whether arguments behind a template parameter are not its own but those of the conversion operator whose type it is.
    arguments_are_operators: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect, steps_max: usize) -> Self {
        Self {
            text,
            dialect,
            has_scopes: false,
            position: 0,
            steps_left: steps_max,
            depth: 0,
            tree: Tree::default(),
            substitutions: Vec::new(),
            pending: Vec::new(),
            arguments: None,
            arguments_are_operators: false,
        }
    }

    /// `_Z <encoding>`, and what the optimiser appended.
    pub(super) fn mangled_name(&mut self) -> Option<Id> {
        self.expect(b"_Z")?;
        let mut name = self.encoding()?;
        while self.peek() == b'.' {
            let suffix = self.clone_suffix()?;
            name = self.tree.add(Node::Clone { of: name, suffix })?;
        }
        self.is_at_end().then_some(name)
    }

    /// Pays for one rule.
    fn step(&mut self) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        Some(())
    }

    /// Reads something that may contain itself.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.step()?;
        if self.depth >= PARSE_DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn add(&mut self, node: Node<'a>) -> Option<Id> {
        self.step()?;
        self.tree.add(node)
    }

    /// Adds what may be referred to by `S_` from now on.
    fn add_substitution(&mut self, id: Id) {
        let is_template = self.peek() == b'I';
        self.substitutions.push(Substitution { id, is_template });
    }

    /// The byte that comes next, 0 at the end.
    fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    fn peek_at(&self, offset: usize) -> u8 {
        self.text.as_bytes().get(self.position + offset).copied().unwrap_or(0)
    }

    fn is_at_end(&self) -> bool {
        self.position >= self.text.len()
    }

    fn starts_with(&self, bytes: &[u8]) -> bool {
        self.text.as_bytes().get(self.position..).is_some_and(|rest| rest.starts_with(bytes))
    }

    /// Takes these bytes where they come next.
    fn eat(&mut self, bytes: &[u8]) -> bool {
        let is_next = self.starts_with(bytes);
        if is_next {
            self.position += bytes.len();
        }
        is_next
    }

    fn expect(&mut self, bytes: &[u8]) -> Option<()> {
        self.eat(bytes).then_some(())
    }

    /// The next bytes as long as they are of a kind; only for kinds within ASCII.
    fn take_while(&mut self, is_kind: impl Fn(u8) -> bool) -> &'a str {
        let start = self.position;
        while is_kind(self.peek()) {
            self.position += 1;
        }
        self.text.get(start..self.position).unwrap_or_default()
    }

    /// A number in decimal digits without sign.
    fn number(&mut self) -> Option<u32> {
        self.digits()?.parse().ok()
    }

    fn digits(&mut self) -> Option<&'a str> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        (!digits.is_empty()).then_some(digits)
    }

    /// `_` is 0, `0_` is 1 and so on: the number of parameters and unnamed types.
    fn index(&mut self) -> Option<u32> {
        let index = match self.peek() {
            b'_' => 0,
            _ => self.number()?.checked_add(1)?,
        };
        self.expect(b"_")?;
        Some(index)
    }

    /// As [`Self::index`], with the digits 0 to 9 and A to Z: the number of substitutions.
    fn sequence_index(&mut self) -> Option<u32> {
        let digits = self.take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        let index = match digits {
            "" => 0,
            digits => u32::from_str_radix(digits, 36).ok()?.checked_add(1)?,
        };
        self.expect(b"_")?;
        Some(index)
    }

    /// Reads parts until their end, which is read as well.
    fn list_until(&mut self, end: &[u8], read: impl Fn(&mut Self) -> Option<Id>) -> Option<List> {
        let start = self.pending.len();
        while !self.eat(end) {
            let part = read(self)?;
            self.pending.push(part);
        }
        self.tree.add_list(self.pending.drain(start..))
    }

    /// `<substitution>` other than `St`; what it refers to, which is not itself something to refer to.
    fn substitution(&mut self) -> Option<Substitution> {
        self.step()?;
        self.expect(b"S")?;
        let standard = match self.peek() {
            b'a' => StandardName { text: "std::allocator", constructor: "allocator" },
            b'b' => StandardName { text: "std::basic_string", constructor: "basic_string" },
            b's' => StandardName { text: "std::string", constructor: "string" },
            b'i' => StandardName {
                text: "std::basic_istream<char, std::char_traits<char> >",
                constructor: "basic_istream",
            },
            b'o' => StandardName { text: "std::ostream", constructor: "ostream" },
            b'd' => StandardName {
                text: "std::basic_iostream<char, std::char_traits<char> >",
                constructor: "basic_iostream",
            },
            _ => {
                let index = usize::try_from(self.sequence_index()?).ok()?;
                return self.substitutions.get(index).copied();
            }
        };
        let is_template = matches!(self.peek(), b'a' | b'b');
        self.position += 1;
        let plain = self.add(Node::Standard(standard))?;
        let id = self.abi_tags(plain)?;
        if id != plain {
            self.add_substitution(id);
        }
        Some(Substitution { id, is_template })
    }
}
