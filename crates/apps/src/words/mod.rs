//! Believable text for the initial data of apps: generators by name, each a pure function of a random generator.
//!
//! Generators of words, whose texts are in the grammar of `lists/`, which [`grammar`] explains; what they are called, in [`table`].

mod account;
mod address;
mod grammar;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use self::table::GENERATORS;

/// One kind of text.
#[derive(Debug)]
pub struct Generator {
    /// Name in definitions, in snake case; unique.
    pub name: &'static str,
    /// Text arguments, in order.
    pub parameters: &'static [&'static str],
    /// Text arguments that may follow, all or none: with them the text fits what they name.
    pub further: &'static [&'static str],
    /// Description in a few words.
    pub about: &'static str,
    /// A lower bound of how many different texts it yields without further arguments, whatever the others are.
    pub size: u64,
    source: Source,
}

/// Where the text comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// The rule of the grammar that has the generator's name.
    Rule,
    /// Something that a grammar cannot say, such as check digits.
    Code(fn(&mut ChaCha8Rng, &[Arc<str>]) -> String),
}

impl Generator {
    /// A text, drawn anew by every call.
    ///
    /// Arguments are those of [`parameters`](Self::parameters) and perhaps of [`further`](Self::further); missing ones count as empty
    /// text, more do nothing.
    #[must_use]
    pub fn generate(&self, random: &mut ChaCha8Rng, arguments: &[Arc<str>]) -> String {
        match self.source {
            Source::Rule => {
                let names = self.parameters.iter().chain(self.further).copied();
                let given = arguments.iter().map(|argument| argument.trim().to_owned());
                let bound: Vec<(&str, String)> = names.zip(given.chain(std::iter::repeat(String::new()))).collect();
                let is_about = !self.further.is_empty() && arguments.len() >= bound.len();
                let rule = if is_about { self.name.to_owned() + ".about" } else { self.name.to_owned() };
                grammar::WORDS.text(&rule, bound, random)
            }
            Source::Code(run) => run(random, arguments),
        }
    }

    /// Words for a parameter, such as topics or kinds, that have texts of their own; any other word has the general ones.
    #[must_use]
    pub fn choices(&self, parameter: &str) -> Vec<&'static str> {
        match self.source {
            Source::Rule => grammar::WORDS.choices(self.name, parameter),
            Source::Code(_) => Vec::new(),
        }
    }

    /// A generator whose rule stands in the grammar.
    const fn rule(name: &'static str, parameters: &'static [&'static str], size: u64, about: &'static str) -> Self {
        Self { name, parameters, further: &[], about, size, source: Source::Rule }
    }

    /// The generator with further arguments, for which the grammar has a rule of its own.
    const fn or(mut self, further: &'static [&'static str]) -> Self {
        self.further = further;
        self
    }

    /// A generator that is a function.
    const fn code(
        name: &'static str,
        parameters: &'static [&'static str],
        size: u64,
        about: &'static str,
        run: fn(&mut ChaCha8Rng, &[Arc<str>]) -> String,
    ) -> Self {
        Self { name, parameters, further: &[], about, size, source: Source::Code(run) }
    }
}

/// The generator of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Generator> {
    GENERATORS.iter().find(|generator| generator.name == name)
}

/// Every generator, by theme.
pub fn all() -> impl Iterator<Item = &'static Generator> {
    GENERATORS.iter()
}
