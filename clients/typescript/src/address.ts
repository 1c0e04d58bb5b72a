/** The address of a server, and the credential that is sent to it. */

import { PalestraError } from "./errors.js";

/** @throws {PalestraError} when `text` is no HTTP address. */
export function parseAddress(text: string | undefined): URL {
  if (text === undefined) throw new PalestraError("there is no server address: pass `url`, or set PALESTRA_URL");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new PalestraError(`${JSON.stringify(text)} is no address: give one of the form http://host:port`);
  }
  return url;
}

/** @throws {PalestraError} when `key` cannot be sent in a header. */
export function checkKey(key: string | undefined): string | undefined {
  if (key !== undefined && !/^[!-~]+$/.test(key)) {
    throw new PalestraError("the key is empty or holds characters that no key has: check `key` or PALESTRA_API_KEY");
  }
  return key;
}

/** The address of `path`, such as `/v1/whoami`, on the server at `base`, which may lie below a prefix. */
export function below(base: URL, path: string): URL {
  const address = new URL(base);
  address.pathname = base.pathname.replace(/\/$/, "") + path;
  return address;
}
