//! The tree that the parser builds: as written, before names and types are known.

/// A part of an expression and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expr {
    /// In characters from the start of the source: at the operator, or at what is named.
    pub(super) offset: usize,
    /// Depth of the parts in this one, itself included.
    pub(super) depth: usize,
    pub(super) node: Node,
}

/// Literal text; where its characters stand is known unless it was written with escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) text: String,
    pub(super) escaped: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Int(i64),
    /// Digits without the point, and how many of them stand behind it.
    Decimal(i64, u8),
    Text(Literal),
    Name(String),
    /// The place of the name, the name, and whether it was reached by `?.`.
    Member(Box<Expr>, String, bool),
    Index(Box<Expr>, Box<Expr>),
    Call(String, Vec<Expr>),
    /// `old(e)` or `init(e)` with the members and indices that follow it pulled in.
    Root(Root, Box<Expr>),
    List(Vec<Expr>),
    /// `{item: a, count: 2}`: fields by name.
    Record(Vec<(String, Expr)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    /// At least two conditions: all of them, or any of them.
    Logic(Logic, Vec<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `a ?? b`
    Default(Box<Expr>, Box<Expr>),
    /// `a ? b : c`
    Choice(Box<[Expr; 3]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logic {
    All,
    Any,
}

/// Data of an earlier time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Root {
    Old,
    Init,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// Its spelling.
    pub(super) const fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

impl Expr {
    /// The parts directly within this one.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match &self.node {
            Node::Null | Node::Bool(_) | Node::Int(_) | Node::Decimal(..) | Node::Text(_) | Node::Name(_) => Vec::new(),
            Node::Member(inner, ..) | Node::Root(_, inner) | Node::Not(inner) | Node::Negate(inner) => vec![inner],
            Node::Index(left, right) | Node::Binary(_, left, right) | Node::Default(left, right) => vec![left, right],
            Node::Call(_, parts) | Node::List(parts) | Node::Logic(_, parts) => parts.iter().collect(),
            Node::Record(fields) => fields.iter().map(|(_, value)| value).collect(),
            Node::Choice(parts) => parts.iter().collect(),
        }
    }

    /// The name, if this is just one.
    pub(super) fn as_name(&self) -> Option<&str> {
        match &self.node {
            Node::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The place of the first character of this part; `offset` is that of its operator.
    pub(super) fn start(&self) -> usize {
        match &self.node {
            Node::Member(inner, ..) | Node::Index(inner, _) | Node::Binary(_, inner, _) | Node::Default(inner, _) => {
                inner.start()
            }
            Node::Choice(parts) => parts[0].start(),
            Node::Logic(_, parts) => parts.first().map_or(self.offset, Self::start),
            _ => self.offset,
        }
    }

    /// Name in messages: a path, of earlier data if it is; none for anything else.
    pub(super) fn written(&self) -> Option<String> {
        match &self.node {
            Node::Root(Root::Old, inner) => inner.path().map(|path| format!("old({path})")),
            Node::Root(Root::Init, inner) => inner.path().map(|path| format!("init({path})")),
            _ => self.path(),
        }
    }

    /// A name with its members, as written: `loan.back`. None for anything else.
    pub(super) fn path(&self) -> Option<String> {
        match &self.node {
            Node::Name(name) => Some(name.clone()),
            Node::Member(inner, name, _) => inner.path().map(|path| format!("{path}.{name}")),
            _ => None,
        }
    }
}
