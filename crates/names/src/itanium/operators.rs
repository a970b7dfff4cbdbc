//! The operators of C++ and their codes of two letters.

/// What may stand around an operator in an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// One behind it.
    Prefix,
    /// `++` and `--`: one before it, or behind it where the code is followed by `_`.
    Step,
    /// One on each side.
    Binary,
    /// Read by rules of its own where it stands in an expression.
    Special,
}

pub(super) struct Operator {
    code: [u8; 2],
    /// As it stands in an expression and, behind `operator`, in a name.
    pub(super) text: &'static str,
    pub(super) operands: Operands,
}

const fn operator(code: [u8; 2], text: &'static str, operands: Operands) -> Operator {
    Operator { code, text, operands }
}

use Operands::{Binary, Prefix, Special, Step};

/// In the order of their codes.
const OPERATORS: [Operator; 51] = [
    operator(*b"aN", "&=", Binary),
    operator(*b"aS", "=", Binary),
    operator(*b"aa", "&&", Binary),
    operator(*b"ad", "&", Prefix),
    operator(*b"an", "&", Binary),
    operator(*b"aw", "co_await ", Prefix),
    operator(*b"cl", "()", Special),
    operator(*b"cm", ",", Binary),
    operator(*b"co", "~", Prefix),
    operator(*b"dV", "/=", Binary),
    operator(*b"da", "delete[] ", Prefix),
    operator(*b"de", "*", Prefix),
    operator(*b"dl", "delete ", Prefix),
    operator(*b"dv", "/", Binary),
    operator(*b"eO", "^=", Binary),
    operator(*b"eo", "^", Binary),
    operator(*b"eq", "==", Binary),
    operator(*b"ge", ">=", Binary),
    operator(*b"gt", ">", Binary),
    operator(*b"ix", "[]", Special),
    operator(*b"lS", "<<=", Binary),
    operator(*b"le", "<=", Binary),
    operator(*b"ls", "<<", Binary),
    operator(*b"lt", "<", Binary),
    operator(*b"mI", "-=", Binary),
    operator(*b"mL", "*=", Binary),
    operator(*b"mi", "-", Binary),
    operator(*b"ml", "*", Binary),
    operator(*b"mm", "--", Step),
    operator(*b"na", "new[]", Special),
    operator(*b"ne", "!=", Binary),
    operator(*b"ng", "-", Prefix),
    operator(*b"nt", "!", Prefix),
    operator(*b"nw", "new", Special),
    operator(*b"oR", "|=", Binary),
    operator(*b"oo", "||", Binary),
    operator(*b"or", "|", Binary),
    operator(*b"pL", "+=", Binary),
    operator(*b"pl", "+", Binary),
    operator(*b"pm", "->*", Binary),
    operator(*b"pp", "++", Step),
    operator(*b"ps", "+", Prefix),
    operator(*b"pt", "->", Special),
    operator(*b"qu", "?", Special),
    operator(*b"rM", "%=", Binary),
    operator(*b"rS", ">>=", Binary),
    operator(*b"rm", "%", Binary),
    operator(*b"rs", ">>", Binary),
    operator(*b"ss", "<=>", Binary),
    operator(*b"ds", ".*", Special),
    operator(*b"dt", ".", Special),
];

/// The operator of a code of two letters.
pub(super) fn find(code: [u8; 2]) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.code == code)
}
