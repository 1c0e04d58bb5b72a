/** Identities that callers choose, so that a request can be repeated without acting twice. */

const KEY_BYTES = 16;
const UUID_BYTES = 16;
const TIME_DIGITS = 12;

/** A key that no other operation carries. Made without `crypto.randomUUID`, which insecure pages lack. */
export function newKey(): string {
  return hexadecimal(crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
}

/** A new id: `prefix` and a UUIDv7 (RFC 9562) in 32 hexadecimal digits. */
export function newId(prefix: "run_"): string {
  const bytes = crypto.getRandomValues(new Uint8Array(UUID_BYTES));
  bytes[6] = 0x70 | (bytes[6]! & 0x0f); // Version 7.
  bytes[8] = 0x80 | (bytes[8]! & 0x3f); // The variant of RFC 9562.
  const time = Date.now().toString(16).padStart(TIME_DIGITS, "0");
  return prefix + time + hexadecimal(bytes).slice(TIME_DIGITS);
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
