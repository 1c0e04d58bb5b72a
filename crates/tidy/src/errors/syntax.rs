//! What syntax trees say: texts, names, codes.

use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, Pat};

/// Calls that leave a text what it is.
pub(super) const CONVERSIONS: &[&str] =
    &["to_owned", "into", "to_string", "clone", "from", "Some", "Owned", "Borrowed"];

/// The text of `#[error("...")]`.
pub(super) fn form(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("error"))?;
    first_literal(&attribute.meta.require_list().ok()?.tokens)
}

/// A text at the beginning of other tokens.
struct First(String);

impl Parse for First {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let first: syn::LitStr = input.parse()?;
        while !input.is_empty() {
            input
                .step(|cursor| cursor.token_tree().map(|(_, rest)| ((), rest)).ok_or_else(|| cursor.error("no end")))?;
        }
        Ok(Self(first.value()))
    }
}

pub(super) fn first_literal(tokens: &impl ToTokens) -> Option<String> {
    syn::parse2::<First>(tokens.to_token_stream()).ok().map(|first| first.0)
}

/// What a text ends by, where that is a placeholder for more text: all of it, or behind a colon. A noun ("there is no {0}") is none.
pub(super) fn ending(text: &str) -> Option<(&str, &str)> {
    let (before, last) = text.trim_end().strip_suffix('}')?.rsplit_once('{')?;
    (before.is_empty() || before.trim_end().ends_with(':'))
        .then(|| (before, last.split(':').next().unwrap_or_default()))
}

/// Whether a text says more than its placeholders do.
pub(super) fn has_words(text: &str) -> bool {
    let mut depth = 0_u32;
    text.chars().any(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && character.is_alphabetic()
    })
}

/// The name that an expression is, also behind a reference or a conversion.
pub(super) fn name_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        Expr::Reference(inner) => name_of(&inner.expr),
        Expr::MethodCall(call) if CONVERSIONS.contains(&call.method.to_string().as_str()) => name_of(&call.receiver),
        _ => None,
    }
}

pub(super) fn name_of_pattern(pattern: &Pat) -> String {
    match pattern {
        Pat::Ident(name) => name.ident.to_string(),
        Pat::Type(typed) => name_of_pattern(&typed.pat),
        _ => String::new(),
    }
}

/// The name of a parameter that may be a text; others have no name here.
pub(super) fn text_parameter(pattern: &Pat) -> String {
    match pattern {
        Pat::Type(typed) => {
            let kind = typed.ty.to_token_stream().to_string();
            let is_text = ["str", "String", "Display"].iter().any(|text| kind.contains(text));
            if is_text { name_of_pattern(&typed.pat) } else { String::new() }
        }
        other => name_of_pattern(other),
    }
}

/// Parameters in order, without `self`.
pub(super) fn parameters(signature: &syn::Signature) -> Vec<String> {
    let typed = signature.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => Some(text_parameter(&Pat::Type(typed.clone()))),
        syn::FnArg::Receiver(_) => None,
    });
    typed.collect()
}

/// What a block comes to.
pub(super) fn result_of(block: &syn::Block) -> Option<&Expr> {
    match block.stmts.last() {
        Some(syn::Stmt::Expr(last, None)) => Some(last),
        _ => None,
    }
}

pub(super) fn last_of(function: &Expr) -> Option<String> {
    match function {
        Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// The code of the API that an argument names, as it is written in JSON.
pub(super) fn code_of(argument: &Expr) -> Option<String> {
    let Expr::Path(path) = argument else { return None };
    let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let [.., of, code] = names.as_slice() else { return None };
    if of != "Code" {
        return None;
    }
    let mut written = String::new();
    for (index, character) in code.char_indices() {
        if character.is_uppercase() && index > 0 {
            written.push('_');
        }
        written.extend(character.to_lowercase());
    }
    Some(written)
}
