//! Keys and tokens on the embedded store.

use palestra_protocol::id::SessionId;

use super::*;
use palestra_store::Target;

/// Authentication on a store in a folder of its own.
struct World {
    auth: Auth,
    _folder: tempfile::TempDir,
}

impl std::ops::Deref for World {
    type Target = Auth;

    fn deref(&self) -> &Auth {
        &self.auth
    }
}

async fn auth(clock: &Clock) -> World {
    let folder = tempfile::tempdir().unwrap();
    let store = palestra_store::open(&Target::Sqlite(folder.path().join("palestra.db"))).await.unwrap();
    let auth = Auth::new(store, clock.clone(), &RootSecret::from_text("root"), Some("the-admin-key-of-tests"));
    World { auth, _folder: folder }
}

fn request(scopes: &[Scope]) -> CreateKey {
    CreateKey { name: "test".to_owned(), scopes: scopes.to_vec(), expires_at: None }
}

#[tokio::test]
async fn a_key_is_its_tenant_with_its_scopes() {
    let auth = auth(&Clock::manual()).await;
    let created = auth.create_key("acme", request(&[Scope::Sessions, Scope::Sessions])).await.unwrap();
    let principal = auth.authenticate(&created.secret).await.unwrap();
    assert_eq!(&*principal.tenant, "acme");
    assert!(principal.require(Scope::Sessions).is_ok());
    assert!(matches!(principal.require(Scope::Admin), Err(AuthError::Scope(Scope::Admin))));
    assert_eq!(principal.describe().scopes, [Scope::Sessions]);
}

#[tokio::test]
async fn a_secret_of_another_key_or_server_is_refused() {
    let clock = Clock::manual();
    let (here, there) = (auth(&clock).await, auth(&clock).await);
    let ours = here.create_key("acme", request(&[Scope::Sessions])).await.unwrap();
    let theirs = there.create_key("acme", request(&[Scope::Sessions])).await.unwrap();
    let mixed = format!("{}_{}", &ours.secret[..35], theirs.secret.rsplit('_').next().unwrap());
    for credential in [theirs.secret.as_str(), &mixed, "pk_", "", "the-admin-key-of-test"] {
        assert!(matches!(here.authenticate(credential).await, Err(AuthError::Refused)), "{credential}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once_although_it_was_cached() {
    let auth = auth(&Clock::manual()).await;
    let created = auth.create_key("acme", request(&[Scope::Sessions])).await.unwrap();
    let principal = auth.authenticate(&created.secret).await.unwrap();
    assert!(auth.is_still_valid(&principal).await.unwrap());
    assert!(!auth.revoke_key("other", created.key.id).await.unwrap());
    assert!(auth.authenticate(&created.secret).await.is_ok());
    assert!(auth.revoke_key("acme", created.key.id).await.unwrap());
    assert!(matches!(auth.authenticate(&created.secret).await, Err(AuthError::Refused)));
    assert!(!auth.is_still_valid(&principal).await.unwrap());
}

#[tokio::test]
async fn a_key_ends_when_it_says_although_it_was_cached() {
    let clock = Clock::manual();
    let auth = auth(&clock).await;
    let expires_at = Some(clock.now().plus_ms(1_000));
    let created = auth.create_key("acme", CreateKey { expires_at, ..request(&[Scope::Sessions]) }).await.unwrap();
    let principal = auth.authenticate(&created.secret).await.unwrap();
    clock.advance_ms(1_000);
    assert!(matches!(auth.authenticate(&created.secret).await, Err(AuthError::Refused)));
    assert!(!auth.is_still_valid(&principal).await.unwrap());
}

#[tokio::test]
async fn the_key_from_outside_is_admin_of_the_default_tenant() {
    let auth = auth(&Clock::manual()).await;
    let principal = auth.authenticate("the-admin-key-of-tests").await.unwrap();
    assert_eq!(&*principal.tenant, DEFAULT_TENANT);
    assert!(Scope::ALL.iter().all(|scope| principal.require(*scope).is_ok()));
    assert!(!auth.has_admin_key(DEFAULT_TENANT).await.unwrap());
    auth.create_key(DEFAULT_TENANT, request(&[Scope::Admin])).await.unwrap();
    assert!(auth.has_admin_key(DEFAULT_TENANT).await.unwrap());
}

#[tokio::test]
async fn a_session_token_dies_with_the_key_that_made_it() {
    let clock = Clock::manual();
    let auth = auth(&clock).await;
    let created = auth.create_key("acme", request(&[Scope::Sessions])).await.unwrap();
    let maker = auth.authenticate(&created.secret).await.unwrap();
    let token = auth.session_token(&maker, SessionId::new(), clock.now().plus_ms(60_000)).unwrap();
    auth.authenticate(&token).await.unwrap();
    assert!(auth.revoke_key("acme", created.key.id).await.unwrap());
    assert!(matches!(auth.authenticate(&token).await, Err(AuthError::Refused)));
}
