//! Names of the fields that a type reads or writes, from its source; or of a part of a JSON Schema.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::rc::Rc;

use quote::ToTokens as _;
use serde_json::Value as Json;
use syn::{Attribute, Expr, ExprLit, Fields, Item, Lit};

use crate::circles::is_for_tests;
use crate::root;

/// Attributes of serde and clap that decide over names.
#[derive(Default)]
struct Names {
    rename: Option<String>,
    aliases: Vec<String>,
    /// Fields for the word and the content of a variant.
    tag: Vec<String>,
    untagged: bool,
    /// No field of its own: left out, or its fields stand in its place.
    absent: bool,
}

impl Names {
    fn of(attributes: &[Attribute]) -> Self {
        let mut names = Self::default();
        let told =
            |attribute: &&Attribute| ["serde", "arg", "command"].iter().any(|name| attribute.path().is_ident(name));
        for attribute in attributes.iter().filter(told).filter(|attribute| attribute.meta.require_list().is_ok()) {
            attribute
                .parse_nested_meta(|meta| {
                    let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                    let value = meta.value().ok().map(|value| value.parse::<Expr>()).transpose()?;
                    let value = match value {
                        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Some(text.value()),
                        _ => None,
                    };
                    match (key.as_str(), value) {
                        ("rename" | "long", Some(value)) => names.rename = Some(value),
                        ("alias", Some(value)) => names.aliases.push(value),
                        ("tag" | "content", Some(value)) => names.tag.push(value),
                        ("untagged", _) => names.untagged = true,
                        ("skip" | "flatten", _) => names.absent = true,
                        _ => {}
                    }
                    Ok(())
                })
                .expect("attributes that syn can read");
        }
        names
    }
}

/// A type with named fields, or with variants.
pub(super) struct Type {
    /// Its fields as they are written in the format.
    pub(super) fields: BTreeSet<String>,
    /// Every name in the types of its fields.
    pub(super) uses: BTreeSet<String>,
}

/// Stands for the numbers that a file of the trainer reports.
const METRICS: &str = "metrics";

/// The type `name` in `file`. For a JSON Schema it is the part of that name, or the whole where it is empty; `fn:NAME` is a function that
/// asks for fields by their names.
pub(super) fn read(file: &str, name: &str) -> Option<Type> {
    let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    if let Some(function) = name.strip_prefix("fn:") {
        return Some(Type { fields: of_function(&text, function)?, uses: BTreeSet::new() });
    }
    if name == METRICS {
        return Some(Type { fields: of_metrics(&text), uses: BTreeSet::new() });
    }
    if file.ends_with(".json") {
        let schema: Json = serde_json::from_str(&text).expect("a JSON Schema");
        let part = if name.is_empty() { &schema } else { schema["$defs"].get(name)? };
        return Some(Type { fields: of_schema(part), uses: BTreeSet::new() });
    }
    parsed(file, &text).items.iter().find_map(|item| of_item(item, name))
}

/// A file, parsed once.
fn parsed(file: &str, text: &str) -> Rc<syn::File> {
    thread_local!(static FILES: RefCell<HashMap<String, Rc<syn::File>>> = RefCell::default());
    let parse = || Rc::new(syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}")));
    FILES.with_borrow_mut(|files| Rc::clone(files.entry(file.to_owned()).or_insert_with(parse)))
}

/// The names that a function asks for as `required("name")` or `optional("name")`.
fn of_function(text: &str, name: &str) -> Option<BTreeSet<String>> {
    let rest = &text[text.find(&format!("fn {name}("))?..];
    let indent = text[..text.len() - rest.len()].lines().last().map_or(0, |line| line.len() - line.trim_start().len());
    let body = rest.split(&format!("\n{}}}\n", " ".repeat(indent))).next()?;
    let asked = ["required(\"", "optional(\""].into_iter().flat_map(|call| body.split(call).skip(1));
    Some(asked.filter_map(|after| after.split('"').next()).map(str::to_owned).collect())
}

/// The names of numbers: `("name".to_owned(), number)`, or `("name", scalar(..))`.
fn of_metrics(text: &str) -> BTreeSet<String> {
    let quoted = text.split("(\"").skip(1).filter_map(|after| after.split_once('"'));
    let is_number = |rest: &str| rest.starts_with(".to_owned(), ") || rest.starts_with(", scalar(");
    quoted.filter(|(_, rest)| is_number(rest)).map(|(name, _)| name.to_owned()).collect()
}

fn of_schema(part: &Json) -> BTreeSet<String> {
    let own = part["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
    let choices = ["oneOf", "anyOf"].into_iter().filter_map(|choice| part[choice].as_array()).flatten();
    own.chain(choices.flat_map(of_schema)).collect()
}

fn of_item(item: &Item, name: &str) -> Option<Type> {
    match item {
        Item::Struct(found) if found.ident == name && !is_for_tests(&found.attrs) => {
            Some(Type { fields: of_fields(&found.fields, ""), uses: used(&found.fields) })
        }
        Item::Enum(found) if found.ident == name => {
            let names = Names::of(&found.attrs);
            let (mut fields, mut uses) = (BTreeSet::from_iter(names.tag.clone()), BTreeSet::new());
            for variant in &found.variants {
                uses.extend(used(&variant.fields));
                let inside = names.untagged || !names.tag.is_empty();
                let word = Names::of(&variant.attrs).rename.unwrap_or_else(|| snake_case(&variant.ident.to_string()));
                let prefix = if inside { String::new() } else { format!("{word}.") };
                if !inside && !matches!(variant.fields, Fields::Unit) {
                    fields.insert(word);
                }
                fields.extend(of_fields(&variant.fields, &prefix));
            }
            Some(Type { fields, uses })
        }
        _ => None,
    }
}

fn of_fields(fields: &Fields, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for field in fields {
        let names = Names::of(&field.attrs);
        let Some(ident) = field.ident.as_ref().filter(|_| !names.absent) else { continue };
        let own = names.rename.unwrap_or_else(|| ident.to_string().trim_start_matches("r#").to_owned());
        found.extend(names.aliases.into_iter().chain([own]).map(|name| format!("{prefix}{name}")));
    }
    found
}

/// The names in the types of fields that are fields of the format.
fn used(fields: &Fields) -> BTreeSet<String> {
    let types = fields.iter().map(|field| field.ty.to_token_stream().to_string());
    types
        .flat_map(|text| text.split(|sign: char| !sign.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// `CamelCase` as `camel_case`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (place, letter) in name.char_indices() {
        if letter.is_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
