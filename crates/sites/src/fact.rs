//! Facts that pages state, and the sorts of sites that state them.

/// One sort of site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Places, rivers and regions of a country.
    Encyclopaedia,
    /// Threads with replies and votes.
    Forum,
    /// Places, roads and opening hours.
    Map,
    /// Functions, options and versions of a library.
    Documentation,
    /// Articles with dates, sections and corrections.
    News,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Encyclopaedia, Self::Forum, Self::Map, Self::Documentation, Self::News];
}

/// One statement that pages make: a property of a subject, such as `/places/alderby population`. A subject is named by the
/// address of its own page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact(String);

impl Fact {
    /// The property of a subject.
    pub(crate) fn of(subject: &str, property: &str) -> Self {
        Self(format!("{subject} {property}"))
    }
}
