//! Records as they are written: `{item: a, count: 2}`.

use std::sync::Arc;

use super::{Checker, Typed, fits, naming};
use crate::expression::code::Code;
use crate::expression::syntax::Expr;
use crate::kinds::Type;
use crate::value::Value;

impl Checker<'_> {
    /// Where the place asks for a record, the fields are those and in that order, and null where one that is optional is left out.
    pub(super) fn record(&mut self, expr: &Expr, given: &[(String, Expr)], wish: Option<&Type>) -> Option<Typed> {
        let Some(Type::Record(wanted)) = wish else {
            let fields = given.iter().map(|(name, value)| {
                let Typed { kind, code, .. } = self.infer(value, None)?;
                Some(((Arc::from(name.as_str()), kind), code))
            });
            return Some(finished(fields.collect::<Option<Vec<_>>>()?));
        };
        for (name, value) in given {
            if !wanted.iter().any(|(field, _)| **field == *name) {
                let message = match naming::near(name, wanted.iter().map(|(field, _)| &**field)) {
                    Some(near) => format!("no field `{name}` is asked for; did you mean `{near}`?"),
                    None => format!("no field `{name}` is asked for: leave it out"),
                };
                return self.wrong(value.start(), message);
            }
        }
        let fields = wanted.iter().map(|(name, kind)| match given.iter().find(|(field, _)| *field == **name) {
            Some((_, value)) => {
                let found = self.infer(value, Some(kind))?;
                let kind = if fits(&found.kind, kind) { kind.clone() } else { found.kind };
                Some(((Arc::clone(name), kind), found.code))
            }
            None if kind.may_be_null() => Some(((Arc::clone(name), kind.clone()), Code::Constant(Value::Null))),
            None => self.wrong(expr.offset, format!("the field `{name}` is missing: add it")),
        });
        Some(finished(fields.collect::<Option<Vec<_>>>()?))
    }
}

fn finished(fields: Vec<((Arc<str>, Type), Code)>) -> Typed {
    let (kinds, codes): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    Typed::new(Type::Record(kinds.into()), Code::Record(codes.into()))
}
