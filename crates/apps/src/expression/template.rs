//! Texts with holes: `Lend ${kind} for ${days} days.`

use super::checker::{Checker, Typed};
use super::code::{Code, Part};
use super::parser::parse;
use super::syntax::{Expr, Node};
use super::{MAX_LENGTH, Wrong};
use crate::kinds::Type;

/// A piece as it is written.
enum Piece {
    Text(String),
    /// The place of the expression in characters, and the expression.
    Hole(usize, String),
}

/// Cuts a template at its holes. A bracket within a text of a hole does not end it.
fn pieces(source: &str) -> Result<Vec<Piece>, Wrong> {
    let letters: Vec<char> = source.chars().collect();
    let (mut pieces, mut text, mut at) = (Vec::new(), String::new(), 0);
    while let Some(letter) = letters.get(at) {
        match (letter, letters.get(at + 1)) {
            ('$', Some('$')) => {
                text.push('$');
                at += 2;
            }
            ('$', Some('{')) => {
                let start = at + 2;
                let end = hole_end(&letters, start)
                    .ok_or_else(|| Wrong { offset: at, message: "this `${` has no closing `}`: add it".to_owned() })?;
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Hole(start, letters[start..end].iter().collect()));
                at = end + 1;
            }
            ('$', _) => {
                let message = "a `$` begins a hole `${...}`; a dollar sign is written `$$`".to_owned();
                return Err(Wrong { offset: at, message });
            }
            _ => {
                text.push(*letter);
                at += 1;
            }
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

fn hole_end(letters: &[char], start: usize) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, letter) in letters.iter().enumerate().skip(start) {
        match quote {
            None if *letter == '}' => return Some(at),
            None if matches!(letter, '\'' | '"') => quote = Some(*letter),
            None => {}
            Some(_) if escaped => escaped = false,
            Some(_) if *letter == '\\' => escaped = true,
            Some(open) if open == *letter => quote = None,
            Some(_) => {}
        }
    }
    None
}

impl Checker<'_> {
    /// Checks a template. `place` gives the place in the source of a place in the template.
    pub(super) fn template(&mut self, source: &str, place: &dyn Fn(usize) -> usize) -> Option<Box<[Part]>> {
        if source.chars().nth(MAX_LENGTH).is_some() {
            let message = format!("a template has {MAX_LENGTH} characters at most");
            self.errors.push(Wrong { offset: place(MAX_LENGTH), message });
            return None;
        }
        let before = self.errors.len();
        let parts = match pieces(source) {
            Ok(pieces) => pieces.into_iter().map(|piece| self.piece(piece, place)).collect::<Vec<_>>(),
            Err(wrong) => {
                self.errors.push(Wrong { offset: place(wrong.offset), ..wrong });
                return None;
            }
        };
        if self.errors.len() > before { None } else { parts.into_iter().collect() }
    }

    fn piece(&mut self, piece: Piece, place: &dyn Fn(usize) -> usize) -> Option<Part> {
        let (start, source) = match piece {
            Piece::Text(text) => return Some(Part::Text(text.into())),
            Piece::Hole(start, source) => (start, source),
        };
        let before = self.errors.len();
        let hole = match parse(&source) {
            Ok(expr) => self.hole(&expr),
            Err(wrong) => {
                self.errors.push(wrong);
                None
            }
        };
        for wrong in &mut self.errors[before..] {
            wrong.offset = place(start + wrong.offset);
        }
        hole.map(|(shape, code)| Part::Hole(shape, code))
    }

    /// `tpl('...')`
    pub(super) fn template_call(&mut self, template: &Expr) -> Option<Typed> {
        let Node::Text(literal) = &template.node else {
            return self.wrong(template.start(), "a template is literal text: write tpl('... ${value} ...')");
        };
        if self.templates > 0 {
            return self
                .wrong(template.offset, "templates cannot be within each other: write all of it in the outer one");
        }
        self.templates += 1;
        let (start, escaped) = (template.offset, literal.escaped);
        let parts = self.template(&literal.text, &|at| if escaped { start } else { start + 1 + at });
        self.templates -= 1;
        Some(Typed::new(Type::Text, Code::Template(parts?)))
    }
}
