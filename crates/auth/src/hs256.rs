//! HS256 for `jsonwebtoken`, and nothing else: the providers that come with it compile RSA and three elliptic curves, for algorithms
//! that no token here may name.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, AlgorithmFamily};
use sha2::Sha256;
use signature::{Error, Signer, Verifier};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(Key::new(*algorithm, key.family(), key.as_bytes())?)),
    verifier_factory: |algorithm, key| Ok(Box::new(Key::new(*algorithm, key.family(), key.try_get_as_bytes()?)?)),
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this the provider of the process. Later calls change nothing.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

/// Signs and verifies with one key.
struct Key(Hmac<Sha256>);

impl Key {
    fn new(algorithm: Algorithm, family: AlgorithmFamily, secret: &[u8]) -> Result<Self> {
        if algorithm != Algorithm::HS256 {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        if family != AlgorithmFamily::Hmac {
            return Err(ErrorKind::InvalidKeyFormat.into());
        }
        Ok(Self(Hmac::new_from_slice(secret).map_err(|_| ErrorKind::InvalidKeyFormat)?))
    }
}

impl Signer<Vec<u8>> for Key {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(self.0.clone().chain_update(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Key {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.0.clone().chain_update(message).verify_slice(signature).map_err(Error::from_source)
    }
}

impl JwtSigner for Key {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Key {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jsonwebtoken::crypto::{sign, verify};
    use jsonwebtoken::{DecodingKey, EncodingKey};

    /// The example of RFC 7515, appendix A.1.
    #[test]
    fn the_example_of_the_standard_is_signed_and_verified() {
        install();
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let message = b"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
                        cGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let key = URL_SAFE_NO_PAD.decode(key).unwrap();
        let (signing, reading) = (EncodingKey::from_secret(&key), DecodingKey::from_secret(&key));
        assert_eq!(sign(message, &signing, Algorithm::HS256).unwrap(), signature);
        assert!(verify(signature, message, &reading, Algorithm::HS256).unwrap());
        assert!(!verify(signature, &message[1..], &reading, Algorithm::HS256).unwrap());
        assert!(!verify(&signature.replace("dB", "eB"), message, &reading, Algorithm::HS256).unwrap());
        assert!(
            sign(message, &signing, Algorithm::HS384).is_err()
                && verify(signature, message, &reading, Algorithm::HS512).is_err()
        );
    }
}
