//! Account numbers: well formed, with valid check digits, and of banks that do not exist.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::grammar::WORDS;

/// An account number in the format of an IBAN (ISO 13616), without spaces.
///
/// The rule `iban_body` gives the country, then a bank code that no bank of it has, then the account.
pub(super) fn iban(random: &mut ChaCha8Rng, _: &[Arc<str>]) -> String {
    let body = WORDS.text("iban_body", Vec::new(), random);
    let (country, rest) = body.split_at_checked(2).unwrap_or((&body, ""));
    let check = 98 - remainder(&format!("{rest}{country}00"));
    format!("{country}{check:02}{rest}")
}

/// The number modulo 97 that a text stands for, with letters as 10 to 35 (ISO 7064).
fn remainder(text: &str) -> u32 {
    text.chars().filter_map(|sign| sign.to_digit(36)).fold(0, |sum, value| {
        let shift = if value < 10 { 10 } else { 100 };
        (sum * shift + value) % 97
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn account_numbers_have_valid_check_digits_and_the_length_of_their_country() {
        // The example of the standard.
        assert_eq!(remainder("WEST12345698765432GB82"), 1);
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for _ in 0..500 {
            let number = iban(&mut random, &[]);
            let (head, rest) = number.split_at(4);
            assert_eq!(remainder(&format!("{rest}{head}")), 1, "{number}");
            let length = match &head[..2] {
                "DE" | "GB" | "IE" => 22,
                "NL" => 18,
                other => panic!("no length is known for {other}"),
            };
            assert_eq!(number.len(), length, "{number}");
        }
    }
}
