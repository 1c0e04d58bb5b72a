//! Settings of pictures.

use serde::{Deserialize, Serialize};

/// Pixels of a picture for each pixel of the page.
const SCALES: std::ops::RangeInclusive<f64> = 0.1..=2.0;

/// Which picture of a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PictureSettings {
    /// Encoding.
    pub format: PictureFormat,
    /// Pixels of the picture for each pixel of the page, 0.1 to 2.
    pub scale: f64,
    /// True for the whole page, false for what is in sight.
    pub whole_page: bool,
    /// True to frame the elements that can be acted on, each with its id.
    pub marks: bool,
}

/// Encoding of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureFormat {
    /// PNG: exact.
    #[default]
    Png,
    /// WebP: smaller, not exact.
    Webp,
}

impl Default for PictureSettings {
    fn default() -> Self {
        Self { format: PictureFormat::default(), scale: 1.0, whole_page: false, marks: false }
    }
}

impl PictureSettings {
    /// Refuses a scale that no picture can have.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self) -> Result<(), String> {
        if SCALES.contains(&self.scale) {
            Ok(())
        } else {
            Err(format!("the scale of a picture is {}: choose 0.1 to 2", self.scale))
        }
    }
}

impl PictureFormat {
    /// Its media type.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Webp => "image/webp",
        }
    }
}
