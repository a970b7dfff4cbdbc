//! Writes a tree as text, in the style of the GNU tools: `const` behind what it belongs to, `> >` with a space.
//!
//! Types are written around what they declare: [`Printer::print`] writes what stands before the name (`void (*`) and what
//! stands behind it (`)(int)`) at once, which pointers to functions and arrays do not.

mod expression;
mod types;

use super::tree::{Exceptions, Id, List, Node, Qualifiers, ReferenceQualifier, Tree};
use crate::limits::PRINT_DEPTH_MAX;

pub(super) struct Printer<'t, 'a> {
    tree: &'t Tree<'a>,
    pub(super) text: String,
    bytes_max: usize,
    pub(super) steps_left: usize,
    depth: usize,
    functions: Vec<FunctionFrame>,
    context: Context,
}

/// A function that is being written.
#[derive(Clone, Copy)]
struct FunctionFrame {
    /// What template parameters stand for in it.
    arguments: Option<List>,
    /// The function that it is written within.
    outer: Option<usize>,
}

/// What template parameters mean at a place.
#[derive(Clone, Copy, Default)]
struct Context {
    /// The function whose parameters they are.
    function: Option<usize>,
    /// Which argument of a pack is meant, within an expansion of it.
    pack_index: Option<usize>,
    /// Whether they are those of a closure, which may be called with any type.
    is_closure: bool,
}

impl<'t, 'a> Printer<'t, 'a> {
    pub(super) fn new(tree: &'t Tree<'a>, bytes_max: usize, steps_max: usize) -> Self {
        Self {
            tree,
            text: String::new(),
            bytes_max,
            steps_left: steps_max,
            depth: 0,
            functions: Vec::new(),
            context: Context::default(),
        }
    }

    /// Writes a node. `None` where the limits do not allow it, which ends the writing altogether.
    pub(super) fn print(&mut self, id: Id) -> Option<()> {
        self.print_before(id)?;
        if self.has_behind(id)? { self.print_behind(id) } else { Some(()) }
    }

    fn step(&mut self) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        Some(())
    }

    fn write(&mut self, text: &str) -> Option<()> {
        if self.text.len() + text.len() > self.bytes_max {
            return None;
        }
        self.text.push_str(text);
        Some(())
    }

    fn write_number(&mut self, number: u32) -> Option<()> {
        self.write(&number.to_string())
    }

    /// Writes something that may contain itself.
    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.step()?;
        if self.depth >= PRINT_DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let result = write(self);
        self.depth -= 1;
        result
    }

    /// The argument of a template parameter, and the context that it was written in: that of the function around.
    fn argument(&self, index: u32, context: Context) -> Option<(Id, Context)> {
        let mut function = context.function;
        loop {
            let frame = self.functions[function?];
            function = frame.outer;
            let Some(arguments) = frame.arguments else { continue };
            let argument = self.tree.items(arguments).get(usize::try_from(index).ok()?)?;
            return Some((*argument, Context { function, ..Context::default() }));
        }
    }

    /// What a template parameter stands for, and in which context; a node that is none, for itself.
    fn resolve(&mut self, mut id: Id, mut context: Context) -> Option<(Id, Context)> {
        while let (Node::Parameter { index }, false) = (self.tree.node(id), context.is_closure) {
            self.step()?;
            let pack_index = context.pack_index;
            (id, context) = self.argument(index, context)?;
            if let (Node::Pack(items), Some(index)) = (self.tree.node(id), pack_index)
                && let Some(item) = self.tree.items(items).get(index)
            {
                id = *item;
            }
        }
        Some((id, context))
    }

    fn resolve_here(&mut self, id: Id) -> Option<(Id, Context)> {
        self.resolve(id, self.context)
    }

    /// Writes in another context.
    fn within(&mut self, context: Context, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let outer = std::mem::replace(&mut self.context, context);
        let result = write(self);
        self.context = outer;
        result
    }

    /// Writes what a node stands for, which may contain such nodes itself.
    fn with_resolved(&mut self, id: Id, write: impl FnOnce(&mut Self, Id) -> Option<()>) -> Option<()> {
        let (id, context) = self.resolve_here(id)?;
        self.nested(|printer| printer.within(context, |printer| write(printer, id)))
    }

    /// Writes parts with commas between them. Parts that come out empty, as packs may, have none.
    fn print_list(&mut self, list: List) -> Option<()> {
        let tree = self.tree;
        let start = self.text.len();
        for part in tree.items(list) {
            self.print_part(start, |printer| printer.print(*part))?;
        }
        Some(())
    }

    /// Writes one part of a list that begins at `start`.
    fn print_part(&mut self, start: usize, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let before = self.text.len();
        if before > start {
            self.write(", ")?;
        }
        let part = self.text.len();
        write(self)?;
        if self.text.len() == part {
            self.text.truncate(before);
        }
        Some(())
    }

    fn print_in_brackets(&mut self, list: List) -> Option<()> {
        self.write("(")?;
        self.print_list(list)?;
        self.write(")")
    }

    /// Everything before the place of a declared name, which is everything but for some types.
    fn print_before(&mut self, id: Id) -> Option<()> {
        self.with_resolved(id, |printer, id| match printer.tree.node(id) {
            Node::Name(text) => printer.write(text),
            Node::Builtin(text) => printer.write(text),
            Node::Scoped { scope, name } => printer.print_scoped(scope, name),
            Node::WithArguments { name, arguments } => printer.print_with_arguments(name, arguments),
            node => printer.print_name(node),
        })
    }

    fn print_scoped(&mut self, scope: Id, name: Id) -> Option<()> {
        self.print(scope)?;
        self.write("::")?;
        self.print(name)
    }

    fn print_with_arguments(&mut self, name: Id, arguments: List) -> Option<()> {
        self.print(name)?;
        if self.text.ends_with('<') {
            self.write(" ")?;
        }
        self.write("<")?;
        self.print_list(arguments)?;
        self.write(if self.text.ends_with('>') { " >" } else { ">" })
    }

    fn print_name(&mut self, node: Node<'a>) -> Option<()> {
        match node {
            Node::Standard(name) => self.write(name.text),
            Node::Tagged { name, tag } => self.print_tagged(name, tag),
            Node::Constructor { class } => self.print_class_name(class),
            Node::Destructor { class } => self.write("~").and_then(|()| self.print_class_name(class)),
            Node::Operator(text) => self.print_operator(text),
            Node::LiteralOperator(suffix) => self.write("operator\"\" ").and_then(|()| self.write(suffix)),
            Node::VendorOperator(name) => self.write("operator ").and_then(|()| self.write(name)),
            Node::Conversion { to } => self.write("operator ").and_then(|()| self.print(to)),
            Node::Closure { parameters, number } => self.print_closure(parameters, number),
            Node::UnnamedType { number } => self.print_numbered("{unnamed type#", number),
            Node::DefaultArgument { number } => self.print_numbered("{default arg#", number),
            Node::Binding(names) => self.print_binding(names),
            Node::Global(name) => self.write("::").and_then(|()| self.print(name)),
            Node::Function { name, arguments, parameters, qualifiers } => {
                let outer = self.context.function;
                self.functions.push(FunctionFrame { arguments, outer });
                let context = Context { function: Some(self.functions.len() - 1), ..Context::default() };
                let result =
                    self.within(context, |printer| printer.print_function(name, parameters, qualifiers));
                self.functions.pop();
                result
            }
            Node::Special { text, of } => self.write(text).and_then(|()| self.print(of)),
            Node::ConstructionTable { base, derived } => self.print_construction_table(base, derived),
            Node::ReferenceTemporary { number, of } => self.print_reference_temporary(number, of),
            Node::Clone { of, suffix } => self.print_clone(of, suffix),
            node => self.print_type_before(node),
        }
    }

    fn print_tagged(&mut self, name: Id, tag: &str) -> Option<()> {
        self.print(name)?;
        self.write("[abi:")?;
        self.write(tag)?;
        self.write("]")
    }

    fn print_operator(&mut self, text: &str) -> Option<()> {
        self.write("operator")?;
        if text.starts_with(|first: char| first.is_ascii_lowercase()) {
            self.write(" ")?;
        }
        self.write(text.trim_end())
    }

    /// The name of a class as its constructors have it: without scopes, arguments and tags.
    fn print_class_name(&mut self, class: Id) -> Option<()> {
        let mut id = class;
        loop {
            self.step()?;
            id = match self.tree.node(id) {
                Node::Scoped { name, .. } | Node::WithArguments { name, .. } | Node::Tagged { name, .. } => {
                    name
                }
                Node::Parameter { .. } if !self.context.is_closure => self.resolve_here(id)?.0,
                Node::Standard(name) => return self.write(name.constructor),
                _ => return self.print(id),
            };
        }
    }

    fn print_closure(&mut self, parameters: List, number: u32) -> Option<()> {
        self.write("{lambda")?;
        let context = Context { is_closure: true, ..self.context };
        self.within(context, |printer| printer.print_in_brackets(parameters))?;
        self.print_numbered("#", number)
    }

    fn print_numbered(&mut self, text: &str, number: u32) -> Option<()> {
        self.write(text)?;
        self.write_number(number)?;
        self.write("}")
    }

    fn print_binding(&mut self, names: List) -> Option<()> {
        self.write("[")?;
        self.print_list(names)?;
        self.write("]")
    }

    fn print_function(&mut self, name: Id, parameters: List, qualifiers: Qualifiers) -> Option<()> {
        self.print(name)?;
        self.print_in_brackets(parameters)?;
        self.write_qualifiers(qualifiers)
    }

    fn print_construction_table(&mut self, base: Id, derived: Id) -> Option<()> {
        self.write("construction vtable for ")?;
        self.print(base)?;
        self.write("-in-")?;
        self.print(derived)
    }

    fn print_reference_temporary(&mut self, number: u32, of: Id) -> Option<()> {
        self.write("reference temporary #")?;
        self.write_number(number)?;
        self.write(" for ")?;
        self.print(of)
    }

    fn print_clone(&mut self, of: Id, suffix: &str) -> Option<()> {
        self.print(of)?;
        self.write(" [clone ")?;
        self.write(suffix)?;
        self.write("]")
    }

    fn write_qualifiers(&mut self, qualifiers: Qualifiers) -> Option<()> {
        let words = [
            (qualifiers.is_const, " const"),
            (qualifiers.is_volatile, " volatile"),
            (qualifiers.is_restrict, " restrict"),
            (qualifiers.is_transaction_safe, " transaction_safe"),
            (matches!(qualifiers.reference, ReferenceQualifier::Lvalue), " &"),
            (matches!(qualifiers.reference, ReferenceQualifier::Rvalue), " &&"),
        ];
        for (_, word) in words.into_iter().filter(|(is_set, _)| *is_set) {
            self.write(word)?;
        }
        match qualifiers.exceptions {
            Exceptions::Unsaid => Some(()),
            Exceptions::Never => self.write(" noexcept"),
            Exceptions::NeverIf(condition) => {
                self.write(" noexcept(")?;
                self.print(condition)?;
                self.write(")")
            }
            Exceptions::These(types) => {
                self.write(" throw")?;
                self.print_in_brackets(types)
            }
        }
    }
}
