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

    /// Its name in tasks.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encyclopaedia => "encyclopaedia",
            Self::Forum => "forum",
            Self::Map => "map",
            Self::Documentation => "documentation",
            Self::News => "news",
        }
    }
}

/// One statement that pages make: a property of a subject, such as `place/alderby population`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact(String);

impl Fact {
    /// The property of a subject.
    pub(crate) fn of(subject: &str, property: &str) -> Self {
        Self(format!("{subject} {property}"))
    }
}
