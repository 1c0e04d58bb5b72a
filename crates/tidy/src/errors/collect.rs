//! Reads error texts out of the sources: attributes of `thiserror`, and the literals that end up in what those pass on.
//!
//! A place that takes a text is a sink: `Failure::new`, a variant whose form is `{0}`, `Err` of a string. A function that hands a
//! parameter to a sink is one itself, in its package. A text is a literal, or the first literal of `format!`, given to a sink directly,
//! through a conversion, or by a name that the same function or file binds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Fields, Item, Lit, Pat};

use super::form::has_remedy;
use super::syntax::{
    CONVERSIONS, code_of, ending, first_literal, form, has_words, last_of, name_of, name_of_pattern, parameters,
    result_of, text_parameter,
};
use crate::circles::is_for_tests;

/// One error text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text {
    /// Below the root, with forward slashes.
    pub file: String,
    /// The type or code that carries it.
    pub raised_as: String,
    /// As it stands in the source, with its placeholders.
    pub text: String,
    /// Whether what carries it names what it is about, such as a field.
    pub placed: bool,
    /// Whether what carries it says what to do, or what it ends by: another error of ours.
    pub remedied: bool,
}

/// What takes a text: which arguments or fields, and whether it says what the text is about.
#[derive(Debug, Clone, PartialEq)]
struct Sink {
    raised_as: String,
    arguments: Vec<usize>,
    fields: Vec<String>,
    placed: bool,
    remedied: bool,
}

/// Sinks that are not found by themselves: function, argument, and whether another argument says what the text is about.
const BUILT_IN: &[(&str, usize, bool)] = &[
    ("Err", 0, false),
    ("ok_or", 0, false),
    ("ok_or_else", 0, false),
    ("map_err", 0, false),
    ("Failure::new", 1, false),
    ("Failure::invalid", 1, true),
    ("Problem::new", 1, false),
    ("InfraError::new", 0, false),
];
/// The struct of faults in what was sent.
const FAULT: &str = "Fault";
/// Endings of the names of errors that write their texts by hand.
const ERRORS: &[&str] = &["Error", "Failure", "Refusal", "Fault"];
/// Macros whose first literal is an error text.
const MACROS: &[&str] = &["anyhow", "bail"];
/// A source file, without its tests.
pub(super) struct Parsed {
    path: String,
    package: String,
    file: syn::File,
}

/// Reads the sources in `folder`, which is below `root`.
pub(super) fn parse(root: &Path, package: &str, folder: &Path) -> Vec<Parsed> {
    let mut paths = Vec::new();
    crate::collect(folder, "rs", &mut paths);
    paths.sort();
    let mut parsed = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let path = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
        parsed.push(Parsed { path, package: package.to_owned(), file });
    }
    // Modules that are for tests alone are files of their own.
    let tests: Vec<String> = parsed.iter().flat_map(|source| test_modules(&source.path, &source.file)).collect();
    parsed.retain(|source| {
        !tests.iter().any(|test| source.path == format!("{test}.rs") || source.path.starts_with(&format!("{test}/")))
    });
    parsed
}

fn test_modules(path: &str, file: &syn::File) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap();
    let (folder, stem) = path.rsplit_once('/').unwrap();
    let inside = if matches!(stem, "mod" | "lib" | "main") { folder } else { path };
    let modules = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => Some(module.ident.to_string()),
        _ => None,
    });
    modules.map(|name| format!("{inside}/{name}")).collect()
}

/// All error texts of the sources.
pub(super) fn texts(sources: &[Parsed]) -> BTreeSet<Text> {
    let mut reader = Reader::default();
    for (name, argument, placed) in BUILT_IN {
        let raised_as = if *placed { "invalid" } else { "" }.to_owned();
        let sink = Sink { raised_as, arguments: vec![*argument], fields: Vec::new(), placed: *placed, remedied: false };
        reader.add(name, "", sink);
    }
    // Several packages have a type of this name.
    let fields = ["detail", "message"].map(str::to_owned).to_vec();
    let sink = Sink { raised_as: "invalid".to_owned(), arguments: Vec::new(), fields, placed: true, remedied: false };
    reader.add(FAULT, "", sink);
    // First the types, then functions until none is new, then the texts.
    for source in sources {
        reader.source(source);
        source.file.items.iter().for_each(|item| reader.names_of_types(item));
    }
    for source in sources {
        reader.source(source);
        source.file.items.iter().for_each(|item| reader.types(item));
    }
    reader.changed = true;
    while std::mem::take(&mut reader.changed) {
        reader.found.clear();
        for source in sources {
            reader.source(source);
            reader.visit_file(&source.file);
        }
    }
    reader.found.union(&reader.attributes).cloned().collect()
}

#[derive(Default)]
struct Reader {
    path: String,
    package: String,
    /// By name, and by the file or package that it is known in: none where it is known everywhere.
    sinks: BTreeMap<String, BTreeMap<String, Sink>>,
    /// Whether a sink was found since the sources were last read.
    changed: bool,
    /// Types with a text of their own.
    types: BTreeSet<String>,
    attributes: BTreeSet<Text>,
    found: BTreeSet<Text>,
    /// The type whose methods are read.
    of: String,
    /// Whether it is an error's `Display` that is read.
    displays: bool,
    /// Parameters of the functions and closures that are open, with the functions' names.
    open: Vec<(String, Vec<String>)>,
    /// Names that are bound to texts.
    bound: BTreeMap<String, Vec<String>>,
}

impl Reader {
    fn source(&mut self, source: &Parsed) {
        (self.path, self.package) = (source.path.clone(), source.package.clone());
        self.bound.clear();
    }

    fn names_of_types(&mut self, item: &Item) {
        match item {
            Item::Enum(found) if found.variants.iter().any(|variant| form(&variant.attrs).is_some()) => {
                self.types.insert(found.ident.to_string());
            }
            Item::Struct(found) if form(&found.attrs).is_some() => {
                self.types.insert(found.ident.to_string());
            }
            _ => {}
        }
    }

    fn types(&mut self, item: &Item) {
        match item {
            Item::Enum(found) => {
                for variant in &found.variants {
                    self.carrier(&format!("{}::{}", found.ident, variant.ident), &variant.attrs, &variant.fields);
                }
            }
            Item::Struct(found) => self.carrier(&found.ident.to_string(), &found.attrs, &found.fields),
            _ => {}
        }
    }

    /// What an attribute says, and what the type passes on.
    fn carrier(&mut self, name: &str, attributes: &[Attribute], fields: &Fields) {
        let Some(form) = form(attributes) else { return };
        let last = ending(&form).map(|(_, last)| last.to_owned());
        let words = has_words(&form);
        let ours = |kind: &syn::Type| {
            let kind = kind.to_token_stream().to_string().replace(' ', "");
            let kind = kind.trim_start_matches("Box<").trim_end_matches('>');
            let kind = kind.rsplit("::").next().unwrap_or_default();
            kind == "String" || kind == "&'staticstr" || self.types.contains(kind)
        };
        let mut sink = Sink {
            raised_as: name.to_owned(),
            arguments: Vec::new(),
            fields: Vec::new(),
            placed: words || form.contains(": {"),
            remedied: words && has_remedy(&form),
        };
        let mut goes_on = false;
        for (index, field) in fields.iter().enumerate() {
            let own = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
            if last.as_deref() != Some(own.as_str()) || !ours(&field.ty) {
                continue;
            }
            goes_on = true;
            match &field.ident {
                Some(_) => sink.fields.push(own),
                None => sink.arguments.push(index),
            }
        }
        if goes_on {
            self.add(name, "", sink);
        }
        if words {
            let (file, raised_as) = (self.path.clone(), name.to_owned());
            self.attributes.insert(Text { file, raised_as, text: form, placed: false, remedied: goes_on });
        }
    }

    fn sink(&self, name: &str) -> Option<Sink> {
        let known = self.sinks.get(name)?;
        known.get(&self.path).or_else(|| known.get(&self.package)).or_else(|| known.get("")).cloned()
    }

    /// Notes a sink; what is known already stays.
    fn add(&mut self, name: &str, scope: &str, sink: Sink) {
        let scopes = self.sinks.entry(name.to_owned()).or_default();
        if !scopes.contains_key(scope) {
            self.changed = true;
            scopes.insert(scope.to_owned(), sink);
        }
    }

    /// The sink that a path of a call or struct names.
    fn sink_of(&self, path: &syn::Path) -> Option<Sink> {
        let mut names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        for name in &mut names {
            if name == "Self" && !self.of.is_empty() {
                name.clone_from(&self.of);
            }
        }
        let long = names[names.len().saturating_sub(2)..].join("::");
        self.sink(&long).or_else(|| self.sink(names.last()?).filter(|_| names.len() == 1))
    }

    /// Takes what is given to a sink.
    fn give(&mut self, sink: &Sink, given: &Expr, code: Option<String>) {
        let raised_as = code.unwrap_or_else(|| sink.raised_as.clone());
        for text in self.literals(given) {
            if !has_words(&text) {
                continue;
            }
            let (placed, mut remedied) = (sink.placed, sink.remedied);
            if let Some((_, last)) = ending(&text) {
                let inner = Sink { placed: true, remedied: remedied || has_remedy(&text), ..sink.clone() };
                remedied |= self.hand_on(last, &raised_as, &inner);
            }
            let (file, raised_as) = (self.path.clone(), raised_as.clone());
            self.found.insert(Text { file, raised_as, text, placed, remedied });
        }
        if let Some(name) = name_of(given) {
            self.hand_on(&name, &raised_as, sink);
        }
    }

    /// Makes a sink of the function whose parameter is handed on; false where the name is none of a parameter.
    fn hand_on(&mut self, name: &str, raised_as: &str, sink: &Sink) -> bool {
        if name.is_empty() {
            return false;
        }
        let opened = self.open.iter().rev();
        let mut found =
            opened.filter_map(|(function, names)| Some((function, names.iter().position(|own| own == name)?)));
        let Some((function, index)) = found.next() else { return false };
        let sink = Sink { raised_as: raised_as.to_owned(), arguments: vec![index], fields: Vec::new(), ..*sink };
        // A closure is known in its file alone.
        let closure = function.strip_prefix('|').map(str::to_owned);
        let scope = if closure.is_some() { &self.path } else { &self.package }.clone();
        let name = closure.unwrap_or_else(|| function.clone());
        if !name.is_empty() {
            self.add(&name, &scope, sink);
        }
        true
    }

    /// The texts that an expression stands for.
    fn literals(&self, expression: &Expr) -> Vec<String> {
        match expression {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => vec![text.value()],
                _ => Vec::new(),
            },
            Expr::Macro(call) if call.mac.path.is_ident("format") => {
                first_literal(&call.mac.tokens).into_iter().collect()
            }
            Expr::MethodCall(call) if CONVERSIONS.contains(&call.method.to_string().as_str()) => {
                self.literals(&call.receiver)
            }
            Expr::Call(call) if last_of(&call.func).is_some_and(|name| CONVERSIONS.contains(&name.as_str())) => {
                call.args.iter().flat_map(|argument| self.literals(argument)).collect()
            }
            Expr::Reference(inner) => self.literals(&inner.expr),
            Expr::Paren(inner) => self.literals(&inner.expr),
            Expr::Closure(closure) => self.literals(&closure.body),
            Expr::Block(block) => result_of(&block.block).map(|last| self.literals(last)).unwrap_or_default(),
            Expr::If(branch) => {
                let then = result_of(&branch.then_branch).map(|last| self.literals(last)).unwrap_or_default();
                let other = branch.else_branch.iter().flat_map(|(_, other)| self.literals(other));
                then.into_iter().chain(other).collect()
            }
            Expr::Match(found) => found.arms.iter().flat_map(|arm| self.literals(&arm.body)).collect(),
            Expr::Path(path) => {
                path.path.get_ident().and_then(|name| self.bound.get(&name.to_string())).cloned().unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// The texts that a part of a tuple stands for.
    fn literals_at(&self, expression: &Expr, index: usize) -> Vec<String> {
        match expression {
            Expr::Tuple(parts) => parts.elems.iter().nth(index).map(|part| self.literals(part)).unwrap_or_default(),
            Expr::Match(found) => found.arms.iter().flat_map(|arm| self.literals_at(&arm.body, index)).collect(),
            Expr::Block(block) => result_of(&block.block).map(|last| self.literals_at(last, index)).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn inside(&mut self, name: String, parameters: Vec<String>, visit: impl FnOnce(&mut Self)) {
        self.open.push((name, parameters));
        visit(self);
        self.open.pop();
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(module) if is_for_tests(&module.attrs) => {}
            Item::Fn(function) if is_for_tests(&function.attrs) => {}
            Item::Fn(function) => {
                let name = function.sig.ident.to_string();
                self.inside(name, parameters(&function.sig), |reader| visit::visit_item_fn(reader, function));
            }
            Item::Impl(methods) if is_for_tests(&methods.attrs) => {}
            Item::Impl(methods) => {
                let of = methods.self_ty.to_token_stream().to_string();
                self.of = of.split(['<', ' ']).next().unwrap_or_default().to_owned();
                let display = methods.trait_.as_ref().and_then(|(path, _)| path.segments.last());
                self.displays = display.is_some_and(|name| name.ident == "Display")
                    && ERRORS.iter().any(|ending| self.of.ends_with(ending));
                visit::visit_item_impl(self, methods);
                self.of.clear();
                self.displays = false;
            }
            Item::Const(constant) => {
                let texts = self.literals(&constant.expr);
                self.bound.insert(constant.ident.to_string(), texts);
            }
            other => visit::visit_item(self, other),
        }
    }

    fn visit_impl_item_fn(&mut self, method: &'ast syn::ImplItemFn) {
        let name = format!("{}::{}", self.of, method.sig.ident);
        self.inside(name, parameters(&method.sig), |reader| visit::visit_impl_item_fn(reader, method));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(value) = &local.init else { return };
        let name = match &local.pat {
            Pat::Ident(name) => name.ident.to_string(),
            Pat::Type(typed) => typed.pat.to_token_stream().to_string(),
            _ => String::new(),
        };
        if let Expr::Closure(closure) = &*value.expr {
            let parameters = closure.inputs.iter().map(text_parameter).collect();
            self.inside(format!("|{name}"), parameters, |reader| reader.visit_expr(&closure.body));
            return;
        }
        if let Pat::Tuple(names) = &local.pat {
            for (index, name) in names.elems.iter().enumerate() {
                self.bound.insert(name_of_pattern(name), self.literals_at(&value.expr, index));
            }
        } else if !name.is_empty() {
            self.bound.insert(name, self.literals(&value.expr));
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(path) = &*call.func
            && let Some(sink) = self.sink_of(&path.path)
        {
            let code = call.args.first().and_then(code_of);
            for index in sink.arguments.clone() {
                call.args.iter().nth(index).into_iter().for_each(|given| self.give(&sink, given, code.clone()));
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        let of = if name_of(&call.receiver).as_deref() == Some("self") { format!("{}::{name}", self.of) } else { name };
        if let Some(sink) = self.sink(&of) {
            for index in sink.arguments.clone() {
                call.args.iter().nth(index).into_iter().for_each(|given| self.give(&sink, given, None));
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_struct(&mut self, built: &'ast syn::ExprStruct) {
        if let Some(mut sink) = self.sink_of(&built.path) {
            sink.placed |= built.fields.iter().any(|field| field.member.to_token_stream().to_string() == "field");
            for field in &built.fields {
                if sink.fields.contains(&field.member.to_token_stream().to_string()) {
                    self.give(&sink, &field.expr, None);
                }
            }
        }
        visit::visit_expr_struct(self, built);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // `vec!` and its like hold expressions.
        if let Ok(inside) = call.parse_body_with(Punctuated::<Expr, syn::Token![,]>::parse_terminated) {
            inside.iter().for_each(|expression| self.visit_expr(expression));
        }
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if MACROS.contains(&name.as_str())
            && let Some(text) = first_literal(&call.tokens)
        {
            let file = self.path.clone();
            self.found.insert(Text { file, raised_as: String::new(), text, placed: false, remedied: false });
        }
        if self.displays
            && name == "write"
            && let Ok(inside) = call.parse_body_with(Punctuated::<Expr, syn::Token![,]>::parse_terminated)
        {
            let (file, raised_as) = (self.path.clone(), self.of.clone());
            let texts: Vec<String> = inside.iter().nth(1).into_iter().flat_map(|text| self.literals(text)).collect();
            self.found.extend(texts.into_iter().filter(|text| has_words(text)).map(|text| {
                let (file, raised_as) = (file.clone(), raised_as.clone());
                Text { file, raised_as, text, placed: false, remedied: false }
            }));
        }
    }
}
