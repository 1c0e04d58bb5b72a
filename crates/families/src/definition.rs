//! A definition as plain data: as it was read, and as it is stored.

use std::collections::BTreeMap;

use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Fault;
use serde_json::Value;
use tokio::sync::oneshot;

/// The value of the member `kind` in the stored definition of an app. A data set has no such member.
pub const APP: &str = "app";

/// Misfitting names that are told.
const FAULTS_TOLD_MAX: usize = 100;

/// Ends, without ever holding anything, when whoever publishes does not wait for it any more.
pub type Left = oneshot::Receiver<()>;

/// A definition without faults, ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// `family/name`.
    pub name: String,
    /// The definition that the kind is built from, beside the rows.
    pub definition: Value,
    /// The number of tasks in each split.
    pub splits: BTreeMap<String, u64>,
    /// Rows by split, where tasks are stored.
    pub rows: Vec<(String, Vec<Value>)>,
    /// `sha256:<hex>` of all of it.
    pub digest: String,
    /// Notes for the publisher.
    pub notes: Vec<String>,
    /// Those of them about tasks that were left out.
    pub left_out: Vec<String>,
    /// True if tasks that are refused are left out, rather than refusing all.
    pub keep_going: bool,
}

impl Parsed {
    /// The faults of the names in it, whatever sort it is of.
    pub(crate) fn misnamed(&self) -> Vec<Fault> {
        let splits = self.splits.keys().map(|split| (NameKind::Split, "split", split.as_str()));
        misnamed([(NameKind::Environment, "name", self.name.as_str())].into_iter().chain(splits))
    }
}

/// A fault for each name that does not fit.
pub(crate) fn misnamed<'a>(names: impl Iterator<Item = (NameKind, &'static str, &'a str)>) -> Vec<Fault> {
    let fault = |(kind, field, name): (NameKind, &str, &str)| {
        let why = kind.check(name).err()?;
        let detail = format!("{name:?} does not fit, correct it: {why}");
        Some(Fault { field: Some(field.to_owned()), detail, ..Fault::default() })
    };
    names.filter_map(fault).take(FAULTS_TOLD_MAX).collect()
}

/// A published definition, as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct Definition<'a> {
    /// `family/name`.
    pub name: &'a str,
    /// Chosen by the store when it was published.
    pub version: u32,
    /// [`Parsed::digest`].
    pub digest: &'a str,
    /// [`Parsed::definition`].
    pub definition: &'a Value,
    /// [`Parsed::splits`].
    pub splits: &'a BTreeMap<String, u64>,
}

impl Definition<'_> {
    /// True if it is an app.
    #[must_use]
    pub fn is_app(&self) -> bool {
        self.definition["kind"] == APP
    }
}
