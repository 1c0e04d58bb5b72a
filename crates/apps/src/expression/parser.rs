//! Builds the tree of a source. From loosest to tightest: `?:`, `||`, `&&`, comparisons and `in`, `??`, `+ -`, `* / %`,
//! `! -`, and then members, indices and calls.

use super::lexer::{Kind, Token, tokens};
use super::syntax::{Expr, Logic, Node, Operator, Root};
use super::{MAX_DEPTH, MAX_LENGTH, Wrong};

/// The tree of an expression.
pub(super) fn parse(source: &str) -> Result<Expr, Wrong> {
    if source.chars().nth(MAX_LENGTH).is_some() {
        let message = format!("an expression has {MAX_LENGTH} characters at most");
        return Err(Wrong { offset: MAX_LENGTH, message });
    }
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0 };
    if parser.peek().kind == Kind::End {
        return Err(Wrong { offset: 0, message: "an expression is expected".to_owned() });
    }
    let expr = parser.choice()?;
    match parser.peek() {
        Token { kind: Kind::End, .. } => Ok(expr),
        found => Err(Wrong {
            offset: found.offset,
            message: format!("an operator or the end is expected, found {}", found.describe()),
        }),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

const COMPARISONS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
];
const SUMS: [(&str, Operator); 2] = [("+", Operator::Add), ("-", Operator::Subtract)];
const PRODUCTS: [(&str, Operator); 3] =
    [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];

impl Parser {
    /// The last token is [`Kind::End`] and is never passed.
    fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        matches!(&self.peek().kind, Kind::Symbol(found) if *found == symbol)
    }

    /// Takes the symbol if it comes next, and says where it stood.
    fn eat(&mut self, symbol: &str) -> Option<usize> {
        self.at_symbol(symbol).then(|| self.next().offset)
    }

    fn operator(&mut self, among: &[(&str, Operator)]) -> Option<(usize, Operator)> {
        among.iter().find_map(|(symbol, operator)| self.eat(symbol).map(|offset| (offset, *operator)))
    }

    fn comparison_operator(&mut self) -> Option<(usize, Operator)> {
        if matches!(&self.peek().kind, Kind::Name(name) if name == "in") {
            return Some((self.next().offset, Operator::In));
        }
        self.operator(&COMPARISONS)
    }

    fn expect(&mut self, symbol: &str, within: &str) -> Result<(), Wrong> {
        if self.eat(symbol).is_some() {
            return Ok(());
        }
        let found = self.peek();
        let message = format!("`{symbol}` is expected in {within}, found {}", found.describe());
        Err(Wrong { offset: found.offset, message })
    }

    /// Refuses parts that are nested too deeply for what walks the tree by recursion.
    fn nest<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        if self.depth == MAX_DEPTH {
            return Err(too_deep(self.peek().offset));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn choice(&mut self) -> Result<Expr, Wrong> {
        self.nest(|parser| {
            let condition = parser.logic(Logic::Any)?;
            let Some(offset) = parser.eat("?") else { return Ok(condition) };
            let then = parser.choice()?;
            parser.expect(":", "`c ? a : b`")?;
            let otherwise = parser.choice()?;
            node(offset, Node::Choice(Box::new([condition, then, otherwise])))
        })
    }

    fn logic(&mut self, logic: Logic) -> Result<Expr, Wrong> {
        let symbol = if logic == Logic::Any { "||" } else { "&&" };
        let read = |parser: &mut Self| match logic {
            Logic::Any => parser.logic(Logic::All),
            Logic::All => parser.comparison(),
        };
        let mut parts = vec![read(self)?];
        let mut first = None;
        while let Some(offset) = self.eat(symbol) {
            first = first.or(Some(offset));
            parts.push(read(self)?);
        }
        match first {
            Some(offset) => node(offset, Node::Logic(logic, parts)),
            None => Ok(parts.swap_remove(0)),
        }
    }

    fn comparison(&mut self) -> Result<Expr, Wrong> {
        let left = self.default()?;
        let Some((offset, operator)) = self.comparison_operator() else { return Ok(left) };
        let right = self.default()?;
        let compared = binary(offset, operator, left, right)?;
        if let Some((offset, _)) = self.comparison_operator() {
            let message = "comparisons do not chain: join two with `&&`, or use parentheses".to_owned();
            return Err(Wrong { offset, message });
        }
        Ok(compared)
    }

    fn default(&mut self) -> Result<Expr, Wrong> {
        let left = self.sum()?;
        let Some(offset) = self.eat("??") else { return Ok(left) };
        let right = self.nest(Self::default)?;
        node(offset, Node::Default(Box::new(left), Box::new(right)))
    }

    fn sum(&mut self) -> Result<Expr, Wrong> {
        let mut left = self.product()?;
        while let Some((offset, operator)) = self.operator(&SUMS) {
            left = binary(offset, operator, left, self.product()?)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, Wrong> {
        let mut left = self.unary()?;
        while let Some((offset, operator)) = self.operator(&PRODUCTS) {
            left = binary(offset, operator, left, self.unary()?)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Wrong> {
        if let Some(offset) = self.eat("!") {
            let inner = self.nest(Self::unary)?;
            return node(offset, Node::Not(Box::new(inner)));
        }
        let Some(offset) = self.eat("-") else { return self.postfix() };
        match self.peek().kind {
            Kind::Int(number) if 0_i64.checked_sub_unsigned(number).is_some() => {
                self.next();
                node(offset, Node::Int(0_i64.saturating_sub_unsigned(number)))
            }
            Kind::Decimal(digits, scale) if 0_i64.checked_sub_unsigned(digits).is_some() => {
                self.next();
                node(offset, Node::Decimal(0_i64.saturating_sub_unsigned(digits), scale))
            }
            _ => {
                let inner = self.nest(Self::unary)?;
                node(offset, Node::Negate(Box::new(inner)))
            }
        }
    }

    fn postfix(&mut self) -> Result<Expr, Wrong> {
        let mut expr = self.primary()?;
        // `init(a).b` means `init(a.b)`: what is reached through a row is read from the same data as the row.
        let mut root = None;
        if let Node::Root(which, inner) = expr.node {
            root = Some((which, expr.offset));
            expr = *inner;
        }
        loop {
            let optional = self.at_symbol("?.");
            if optional || self.at_symbol(".") {
                self.next();
                let token = self.next();
                let Kind::Name(name) = token.kind else {
                    let message = format!("the name of a member is expected, found {}", token.describe());
                    return Err(Wrong { offset: token.offset, message });
                };
                if self.at_symbol("(") {
                    let message = format!("there are no methods: call `{name}(...)` with the value as first argument");
                    return Err(Wrong { offset: token.offset, message });
                }
                expr = node(token.offset, Node::Member(Box::new(expr), name, optional))?;
            } else if let Some(offset) = self.eat("[") {
                let index = self.choice()?;
                self.expect("]", "an index")?;
                expr = node(offset, Node::Index(Box::new(expr), Box::new(index)))?;
            } else {
                break;
            }
        }
        match root {
            Some((which, offset)) => node(offset, Node::Root(which, Box::new(expr))),
            None => Ok(expr),
        }
    }

    fn primary(&mut self) -> Result<Expr, Wrong> {
        let Token { offset, kind } = self.next();
        let wrong = |message: String| Err(Wrong { offset, message });
        let leaf = match kind {
            Kind::Int(number) => match i64::try_from(number) {
                Ok(number) => Node::Int(number),
                Err(_) => return wrong("this number needs more than 64 bits: use a smaller one".to_owned()),
            },
            Kind::Decimal(digits, scale) => match i64::try_from(digits) {
                Ok(digits) => Node::Decimal(digits, scale),
                Err(_) => return wrong("this number needs more than 64 bits: use a smaller one".to_owned()),
            },
            Kind::Text(literal) => Node::Text(literal),
            Kind::Name(name) => return self.named(offset, name),
            Kind::Symbol("(") => {
                let inner = self.choice()?;
                self.expect(")", "a bracket")?;
                return Ok(inner);
            }
            Kind::Symbol("[") => {
                let parts = self.arguments("]", "a list")?;
                Node::List(parts)
            }
            Kind::Symbol("{") => Node::Record(self.fields()?),
            other => {
                return wrong(format!("a value is expected, found {}", Token { offset, kind: other }.describe()));
            }
        };
        node(offset, leaf)
    }

    fn named(&mut self, offset: usize, name: String) -> Result<Expr, Wrong> {
        if self.eat("(").is_some() {
            let mut arguments = self.arguments(")", "a call")?;
            let root = match name.as_str() {
                "old" => Some(Root::Old),
                "init" => Some(Root::Init),
                _ => None,
            };
            return match (root, arguments.len()) {
                (Some(root), 1) => node(offset, Node::Root(root, Box::new(arguments.swap_remove(0)))),
                (Some(_), _) => Err(Wrong { offset, message: format!("`{name}` takes one expression") }),
                (None, _) => node(offset, Node::Call(name, arguments)),
            };
        }
        node(
            offset,
            match name.as_str() {
                "null" => Node::Null,
                "true" => Node::Bool(true),
                "false" => Node::Bool(false),
                "in" => return Err(Wrong { offset, message: "a value is expected before `in`".to_owned() }),
                _ => Node::Name(name),
            },
        )
    }

    /// `item: a, count: 2}`
    fn fields(&mut self) -> Result<Vec<(String, Expr)>, Wrong> {
        let mut fields = Vec::new();
        while self.eat("}").is_none() {
            if !fields.is_empty() {
                self.expect(",", "a record")?;
            }
            let Token { offset, kind } = self.next();
            let Kind::Name(name) = kind else {
                let found = Token { offset, kind }.describe();
                return Err(Wrong { offset, message: format!("the name of a field is expected, found {found}") });
            };
            if fields.iter().any(|(field, _)| *field == name) {
                return Err(Wrong { offset, message: format!("the field `{name}` is given twice: leave one out") });
            }
            self.expect(":", "a record")?;
            fields.push((name, self.choice()?));
        }
        Ok(fields)
    }

    fn arguments(&mut self, close: &str, within: &str) -> Result<Vec<Expr>, Wrong> {
        let mut arguments = Vec::new();
        while self.eat(close).is_none() {
            if !arguments.is_empty() {
                self.expect(",", within)?;
                // As in CEL, a comma may end a list.
                if close == "]" && self.eat(close).is_some() {
                    break;
                }
            }
            arguments.push(self.choice()?);
        }
        Ok(arguments)
    }
}

fn binary(offset: usize, operator: Operator, left: Expr, right: Expr) -> Result<Expr, Wrong> {
    node(offset, Node::Binary(operator, Box::new(left), Box::new(right)))
}

fn node(offset: usize, node: Node) -> Result<Expr, Wrong> {
    let mut expr = Expr { offset, depth: 1, node };
    expr.depth += expr.parts().iter().map(|part| part.depth).max().unwrap_or(0);
    if expr.depth > MAX_DEPTH { Err(too_deep(offset)) } else { Ok(expr) }
}

fn too_deep(offset: usize) -> Wrong {
    Wrong { offset, message: format!("more than {MAX_DEPTH} parts are nested in each other here: simplify them") }
}
