//! Surfaces: on what a session acts, as its setting `surface` says.

use std::str::FromStr;

/// On what a session acts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Surface {
    /// Tools that each do a whole thing.
    #[default]
    Tools,
    /// A screen with clicks and keys.
    Gui,
    /// Tools and a screen.
    Both,
    /// A real browser.
    Browser,
    /// A real browser and tools.
    Hybrid,
}

/// There is no such surface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a surface must be \"tools\", \"gui\", \"both\", \"browser\" or \"hybrid\"")]
pub struct UnknownSurface;

impl Surface {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Tools, Self::Gui, Self::Both, Self::Browser, Self::Hybrid];

    /// As settings write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Gui => "gui",
            Self::Both => "both",
            Self::Browser => "browser",
            Self::Hybrid => "hybrid",
        }
    }

    /// True if there is a real browser.
    #[must_use]
    pub const fn has_browser(self) -> bool {
        matches!(self, Self::Browser | Self::Hybrid)
    }

    /// True if there is a screen.
    #[must_use]
    pub const fn has_screen(self) -> bool {
        matches!(self, Self::Gui | Self::Both)
    }
}

impl FromStr for Surface {
    type Err = UnknownSurface;

    fn from_str(text: &str) -> Result<Self, UnknownSurface> {
        Self::ALL.into_iter().find(|surface| surface.as_str() == text).ok_or(UnknownSurface)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_are_named_one_way() {
        for surface in Surface::ALL {
            assert_eq!(surface.as_str().parse(), Ok(surface));
        }
        assert_eq!("GUI".parse::<Surface>(), Err(UnknownSurface));
    }
}
