//! Initial databases that were made, by variant.

use std::sync::OnceLock;

use crate::data::Data;

/// Initial databases that were made, by variant.
#[derive(Debug, Default)]
pub struct Variants(Vec<OnceLock<Result<Data, String>>>);

impl Variants {
    /// None made yet.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self((0..count.max(1)).map(|_| OnceLock::new()).collect())
    }

    /// Their number.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The initial database of a variant; `make` makes it by its number when it is asked for first.
    ///
    /// # Errors
    /// As `make`, then and each time that it is asked for again.
    pub(crate) fn get_or_make(
        &self,
        variant: usize,
        make: impl FnOnce(u32) -> Result<Data, String>,
    ) -> Result<&Data, String> {
        let place = variant % self.0.len();
        let number = u32::try_from(place).unwrap_or(0);
        self.0[place].get_or_init(|| make(number)).as_ref().map_err(Clone::clone)
    }
}
