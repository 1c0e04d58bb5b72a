//! Batch calls: many items in one request, each with its own outcome.

use palestra_protocol::list::List;
use palestra_protocol::session::{CreateSession, Created, Verify};
use palestra_protocol::step::Stepped;
use palestra_protocol::stream::{BATCH_ITEMS_MAX, Batch, Item, Outcome, StepItem};
use palestra_protocol::verdict::Verdict;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ClientError;
use crate::transport::Client;

impl Client {
    /// Opens many sessions; outcomes stand in the order of the items. At most 1,024 items.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the whole batch.
    pub async fn create_batch(&self, items: Vec<Item<CreateSession>>) -> Result<Vec<Outcome<Created>>, ClientError> {
        self.batch("sessions:create", items).await
    }

    /// Takes many turns; outcomes stand in the order of the items. At most 1,024 items.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the whole batch.
    pub async fn step_batch(&self, items: Vec<StepItem>) -> Result<Vec<Outcome<Stepped>>, ClientError> {
        self.batch("sessions:step", items).await
    }

    /// Judges many sessions; outcomes stand in the order of the items. At most 1,024 items.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the whole batch.
    pub async fn verify_batch(&self, items: Vec<Item<Verify>>) -> Result<Vec<Outcome<Verdict>>, ClientError> {
        self.batch("sessions:verify", items).await
    }

    async fn batch<I: Serialize, O: DeserializeOwned>(
        &self,
        call: &str,
        items: Vec<I>,
    ) -> Result<Vec<Outcome<O>>, ClientError> {
        if items.len() > BATCH_ITEMS_MAX {
            return Err(ClientError::Unsendable(format!("a batch holds at most {BATCH_ITEMS_MAX} items")));
        }
        let list: List<Outcome<O>> = self.post(&[call], &Batch { items }, None).await?;
        Ok(list.data)
    }
}
