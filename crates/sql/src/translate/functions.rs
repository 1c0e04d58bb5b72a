//! Functions and casts.

use sqlparser::ast::{
    DataType, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident,
    ObjectName, Query, SelectItem, SetExpr, WindowType,
};

use super::Untranslatable;
use super::build::{cast, last, parsed, text_of_literal, wrap};
use super::coerce::{is_null, to_number};
use super::scope::{Scope, Translator, Typed};
use crate::dataset::{Affinity, Sort};

impl<'d> Translator<'d> {
    /// Translates a call, a cast, or what the parser reads as syntax of its own.
    pub(super) fn call(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        match expr {
            Expr::Function(_) => self.function(expr, scope),
            Expr::Cast { expr: inner, data_type, .. } => {
                let typed = self.expression(inner, scope)?;
                let (text, typed) = converted(inner, typed, data_type)?;
                *expr = parsed(&text)?;
                Ok(typed)
            }
            Expr::Substring { expr: inner, substring_from: Some(from), substring_for: length, .. } => {
                let nullable = self.text(inner, scope)?.nullable;
                self.expression(from, scope)?;
                if let Some(length) = length {
                    self.expression(length, scope)?;
                }
                let (from, length) = (from.to_string(), length.as_ref().map(ToString::to_string));
                *expr = parsed(&substring(inner, &from, length.as_deref())?)?;
                Ok(Typed::of(Sort::Text, nullable))
            }
            Expr::Trim { expr: inner, trim_where: None, trim_what: None, trim_characters: None } => {
                self.text(inner, scope)
            }
            Expr::Ceil { expr: inner, .. } | Expr::Floor { expr: inner, .. } => {
                let typed = self.expression(inner, scope)?;
                to_number(inner, typed)
            }
            other => Err(Untranslatable::Construct(other.to_string())),
        }
    }

    fn function(&mut self, expr: &mut Expr, scope: &Scope<'_, 'd>) -> Result<Typed, Untranslatable> {
        let Expr::Function(function) = expr else { return Err(Untranslatable::Construct(expr.to_string())) };
        let name = last(&function.name);
        if let Some(filter) = &mut function.filter {
            self.condition(filter, scope)?;
        }
        self.window(function, scope)?;
        let typed = self.arguments(function, scope)?;
        function.name = ObjectName::from(vec![Ident::new(name.clone())]);
        let nullable = typed.iter().any(|typed| typed.nullable);
        let first = typed.first().copied().unwrap_or(Typed::UNKNOWN);
        let mut arguments = arguments_of(&mut function.args);
        let text = |expr: &Expr, typed: Typed| {
            if typed.is_text() { expr.to_string() } else { format!("CAST({expr} AS text)") }
        };
        match (name.as_str(), arguments.as_mut_slice()) {
            ("count", _) | ("row_number" | "rank" | "dense_rank" | "ntile", _) => Ok(Typed::of(Sort::Integer, false)),
            ("percent_rank" | "cume_dist", []) => Ok(Typed::of(Sort::Real, false)),
            ("lag" | "lead" | "first_value" | "last_value" | "nth_value", _) => {
                Ok(Typed { nullable: true, affinity: None, ..first })
            }
            ("sum" | "avg" | "total", [argument]) => {
                let number = to_number(argument, first)?;
                let sort = if name == "sum" { number.sort.unwrap_or(Sort::Real) } else { Sort::Real };
                if name == "total" {
                    function.name = ObjectName::from(vec![Ident::new("sum")]);
                    wrap(expr, |sum| format!("CAST(coalesce({sum}, 0) AS double precision)"))?;
                    return Ok(Typed::of(sort, false));
                }
                Ok(Typed::of(sort, true))
            }
            ("min" | "max", [_]) => Ok(Typed { nullable: true, affinity: None, ..first }),
            ("min" | "max", [_, _, ..]) => {
                // SQLite's are NULL where any of the values is.
                let list = arguments.iter().map(ToString::to_string).collect::<Vec<_>>();
                let function = if name == "min" { "least" } else { "greatest" };
                let call = format!("{function}({})", list.join(", "));
                *expr = if nullable {
                    let nulls = list.iter().map(|value| format!("({value}) IS NULL")).collect::<Vec<_>>().join(" OR ");
                    parsed(&format!("CASE WHEN {nulls} THEN NULL ELSE {call} END"))?
                } else {
                    parsed(&call)?
                };
                Ok(Typed { affinity: None, nullable, ..first })
            }
            ("ifnull" | "coalesce", [_, ..]) => {
                function.name = ObjectName::from(vec![Ident::new("coalesce")]);
                let known = typed.iter().find(|typed| typed.sort.is_some()).copied().unwrap_or(Typed::UNKNOWN);
                for (argument, typed) in arguments.iter_mut().zip(&typed) {
                    if known.is_text() && typed.is_number() {
                        cast(argument, "text")?;
                    } else if known.is_number() && typed.is_text() {
                        return Err(Untranslatable::Comparison(expr.to_string()));
                    }
                }
                Ok(Typed { affinity: None, nullable: typed.iter().all(|typed| typed.nullable), ..known })
            }
            ("nullif", [_, _]) => Ok(Typed { affinity: None, nullable: true, ..first }),
            ("iif" | "if", [condition, yes, no]) => {
                let condition = match first.sort {
                    Some(Sort::Boolean) => condition.to_string(),
                    _ => format!("({condition}) <> 0"),
                };
                let whole = Typed { affinity: None, nullable, ..typed[1] };
                *expr = parsed(&format!("CASE WHEN {condition} THEN {yes} ELSE {no} END"))?;
                Ok(whole)
            }
            ("length", [argument]) => {
                if !first.is_text() && first.sort != Some(Sort::Blob) {
                    cast(argument, "text")?;
                }
                Ok(Typed::of(Sort::Integer, nullable))
            }
            ("lower" | "upper" | "trim" | "ltrim" | "rtrim", [argument, ..]) => {
                if !first.is_text() {
                    cast(argument, "text")?;
                }
                Ok(Typed::of(Sort::Text, nullable))
            }
            ("replace", [_, _, _]) if typed.iter().all(|typed| typed.is_text()) => Ok(Typed::of(Sort::Text, nullable)),
            ("abs", [argument]) => to_number(argument, first),
            ("round", [argument]) => {
                to_number(argument, first)?;
                wrap(expr_argument(expr)?, |number| format!("CAST({number} AS numeric)"))?;
                Ok(Typed::of(Sort::Real, nullable))
            }
            ("round", [argument, digits]) => {
                to_number(argument, first)?;
                let text = format!("round(CAST({argument} AS numeric), CAST({digits} AS integer))");
                *expr = parsed(&text)?;
                Ok(Typed::of(Sort::Real, nullable))
            }
            ("sign", [argument]) => to_number(argument, first),
            ("substr" | "substring", [inner, from]) => {
                let inner = parsed(&text(inner, first))?;
                *expr = parsed(&substring(&inner, &from.to_string(), None)?)?;
                Ok(Typed::of(Sort::Text, nullable))
            }
            ("substr" | "substring", [inner, from, length]) => {
                let inner = parsed(&text(inner, first))?;
                *expr = parsed(&substring(&inner, &from.to_string(), Some(&length.to_string()))?)?;
                Ok(Typed::of(Sort::Text, nullable))
            }
            ("instr", [inner, part]) => {
                *expr = parsed(&format!("strpos({}, {})", text(inner, first), text(part, typed[1])))?;
                Ok(Typed::of(Sort::Integer, nullable))
            }
            ("group_concat" | "string_agg", [argument, rest @ ..]) => {
                let separator = rest.first().map_or_else(|| "','".to_owned(), ToString::to_string);
                let text = text(argument, first);
                let distinct = if is_distinct(function) { "DISTINCT " } else { "" };
                *expr = parsed(&format!("string_agg({distinct}{text}, {separator})"))?;
                Ok(Typed::of(Sort::Text, true))
            }
            ("date" | "datetime" | "time", [moment]) => {
                let form = match name.as_str() {
                    "date" => "YYYY-MM-DD",
                    "time" => "HH24:MI:SS",
                    _ => "YYYY-MM-DD HH24:MI:SS",
                };
                *expr = parsed(&format!("to_char({}, '{form}')", timestamp(moment, first)?))?;
                Ok(Typed::of(Sort::Text, nullable))
            }
            ("julianday", [moment]) => {
                *expr = parsed(&format!(
                    "CAST(extract(julian FROM {}) AS double precision) - 0.5",
                    timestamp(moment, first)?
                ))?;
                Ok(Typed::of(Sort::Real, nullable))
            }
            ("strftime", [form, moment]) => {
                let form = text_of_literal(form).and_then(date_form);
                let form = form.ok_or_else(|| Untranslatable::Function("strftime with this form".into()))?;
                *expr = parsed(&format!("to_char({}, '{form}')", timestamp(moment, typed[1])?))?;
                Ok(Typed::of(Sort::Text, nullable))
            }
            _ => Err(Untranslatable::Function(name)),
        }
    }

    /// Translates arguments; `*` has no type.
    fn arguments(&mut self, function: &mut Function, scope: &Scope<'_, 'd>) -> Result<Vec<Typed>, Untranslatable> {
        let mut typed = Vec::new();
        if let FunctionArguments::List(list) = &mut function.args {
            for argument in &mut list.args {
                match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => typed.push(self.expression(expr, scope)?),
                    FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
                    other => return Err(Untranslatable::Construct(other.to_string())),
                }
            }
            for clause in &mut list.clauses {
                match clause {
                    sqlparser::ast::FunctionArgumentClause::OrderBy(keys) => self.keys(keys, scope)?,
                    other => return Err(Untranslatable::Construct(other.to_string())),
                }
            }
        }
        Ok(typed)
    }

    fn window(&mut self, function: &mut Function, scope: &Scope<'_, 'd>) -> Result<(), Untranslatable> {
        match &mut function.over {
            None => Ok(()),
            Some(WindowType::WindowSpec(window)) => {
                for expr in &mut window.partition_by {
                    self.expression(expr, scope)?;
                }
                self.keys(&mut window.order_by, scope)
            }
            Some(WindowType::NamedWindow(name)) => Err(Untranslatable::Construct(format!("WINDOW {name}"))),
        }
    }
}

fn arguments_of(arguments: &mut FunctionArguments) -> Vec<&mut Expr> {
    match arguments {
        FunctionArguments::List(list) => list
            .args
            .iter_mut()
            .filter_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The first argument of a call.
fn expr_argument(expr: &mut Expr) -> Result<&mut Expr, Untranslatable> {
    let name = expr.to_string();
    match expr {
        Expr::Function(function) => {
            arguments_of(&mut function.args).into_iter().next().ok_or(Untranslatable::Construct(name))
        }
        _ => Err(Untranslatable::Construct(name)),
    }
}

fn is_distinct(function: &Function) -> bool {
    matches!(&function.args, FunctionArguments::List(list) if list.duplicate_treatment == Some(DuplicateTreatment::Distinct))
}

/// A cast, by the affinity of the type that it names.
fn converted(inner: &mut Expr, typed: Typed, data_type: &DataType) -> Result<(String, Typed), Untranslatable> {
    if is_null(inner) {
        return Ok(("NULL".into(), Typed::UNKNOWN));
    }
    let affinity = Affinity::of_declared(&data_type.to_string());
    match affinity {
        Affinity::Text => Ok((format!("CAST({inner} AS text)"), Typed::of(Sort::Text, typed.nullable))),
        Affinity::Integer => {
            let number = to_number(inner, typed)?;
            let text = match number.sort {
                Some(Sort::Integer) => format!("CAST({inner} AS bigint)"),
                _ => format!("CAST(trunc({inner}) AS bigint)"),
            };
            Ok((text, Typed::of(Sort::Integer, typed.nullable)))
        }
        Affinity::Real => {
            to_number(inner, typed)?;
            Ok((format!("CAST({inner} AS double precision)"), Typed::of(Sort::Real, typed.nullable)))
        }
        Affinity::Numeric => {
            let number = to_number(inner, typed)?;
            Ok((inner.to_string(), Typed { affinity: None, ..number }))
        }
        Affinity::Blob => Err(Untranslatable::Construct("CAST AS BLOB".into())),
    }
}

/// Text from a place: SQLite counts negative ones from the end.
fn substring(inner: &Expr, from: &str, length: Option<&str>) -> Result<String, Untranslatable> {
    match (from.parse::<i64>(), length) {
        (Ok(from), None) if from < 0 => Ok(format!("right({inner}, {})", -from)),
        (Ok(0), _) => Err(Untranslatable::Function("substr from 0".into())),
        (Ok(from), Some(length)) if from < 0 => Ok(format!("left(right({inner}, {}), {length})", -from)),
        (_, None) => Ok(format!("substr({inner}, CAST({from} AS integer))")),
        (_, Some(length)) => Ok(format!("substr({inner}, CAST({from} AS integer), CAST({length} AS integer))")),
    }
}

/// A moment as PostgreSQL's type; SQLite's numbers of days are left alone.
fn timestamp(moment: &Expr, typed: Typed) -> Result<String, Untranslatable> {
    if typed.is_text() && text_of_literal(moment) != Some("now") {
        Ok(format!("CAST({moment} AS timestamp)"))
    } else {
        Err(Untranslatable::Function(format!("a date function of {moment}")))
    }
}

/// A form of `strftime` as one of `to_char`.
fn date_form(form: &str) -> Option<String> {
    let mut out = String::new();
    let mut signs = form.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '%' => out.push_str(match signs.next()? {
                'Y' => "YYYY",
                'm' => "MM",
                'd' => "DD",
                'H' => "HH24",
                'M' => "MI",
                'S' => "SS",
                'j' => "DDD",
                'F' => "YYYY-MM-DD",
                'T' => "HH24:MI:SS",
                _ => return None,
            }),
            '-' | ':' | ' ' | '/' | '.' => out.push(sign),
            _ => return None,
        }
    }
    Some(out)
}

/// True if a query gives one row whatever the data: aggregates without groups.
pub(super) fn gives_one_row(query: &Query) -> bool {
    let SetExpr::Select(select) = &*query.body else { return false };
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty());
    let aggregate = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Function(function))
        | SelectItem::ExprWithAlias { expr: Expr::Function(function), .. } => {
            matches!(last(&function.name).as_str(), "count" | "sum" | "avg" | "min" | "max") && function.over.is_none()
        }
        _ => false,
    };
    !grouped && (select.projection.iter().all(aggregate) || select.from.is_empty())
}
