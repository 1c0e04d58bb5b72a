//! Stand-in until the data sets are merged.
#[derive(Debug, Clone)]
pub struct Submission {
    pub name: String,
    pub verifier: Option<String>,
    pub system: Option<String>,
    pub description: Option<String>,
    pub tags: Vec<String>,
}
