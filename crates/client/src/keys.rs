//! Keys, the caller's identity, and the server's health.

use palestra_protocol::id::KeyId;
use palestra_protocol::key::{CreateKey, CreatedKey, Key, WhoAmI};
use palestra_protocol::list::Page;
use reqwest::Method;

use crate::error::ClientError;
use crate::transport::{Client, succeed};

impl Client {
    /// Makes a key; its secret is answered this once.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn create_key(&self, request: &CreateKey) -> Result<CreatedKey, ClientError> {
        self.post(&["keys"], request, None).await
    }

    /// Every key, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn keys(&self) -> Result<Vec<Key>, ClientError> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page: Page<Key> = self.get(&["keys"], &[("cursor", &cursor)]).await?;
            all.extend(page.data);
            match page.next_cursor {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(all),
            }
        }
    }

    /// Revokes a key. Revoking twice is the same as once.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn revoke_key(&self, key: KeyId) -> Result<(), ClientError> {
        succeed(self.request(Method::DELETE, &["keys", &key.to_string()]).send().await?).await.map(drop)
    }

    /// The tenant and scopes of this client's credential.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn whoami(&self) -> Result<WhoAmI, ClientError> {
        self.get(&["whoami"], &()).await
    }

    /// Succeeds when the server is ready to work.
    ///
    /// # Errors
    /// When the server cannot be reached or is not ready.
    pub async fn ready(&self) -> Result<(), ClientError> {
        succeed(self.request_url(Method::GET, self.root_address("readyz")).send().await?).await.map(drop)
    }

    /// The server's metrics in Prometheus' text form.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let response = succeed(self.request_url(Method::GET, self.root_address("metrics")).send().await?).await?;
        Ok(response.text().await?)
    }
}
