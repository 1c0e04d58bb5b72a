"""Address, key and proxy of a server, checked before anything is sent."""

from __future__ import annotations

import ipaddress
import os
import urllib.request
from dataclasses import dataclass
from urllib.parse import urlsplit

from .errors import PalestraError


@dataclass(frozen=True)
class Address:
    """Where a server is, and how it is reached."""

    #: Such as ``http://127.0.0.1:7070``.
    url: str
    #: Headers of every request.
    headers: dict[str, str]
    #: The proxy of HTTP and of the stream; ``None`` without one.
    proxy: str | None

    @classmethod
    def of(cls, url: str | None, key: str | None) -> Address:
        """Of what was given, else of ``PALESTRA_URL`` and ``PALESTRA_API_KEY``."""
        given = (url or os.environ.get("PALESTRA_URL") or "").strip()
        if not given:
            raise PalestraError("no server is named: give `url`, or set PALESTRA_URL")
        try:
            parts = urlsplit(given)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or any(character.isspace() for character in given):
            raise PalestraError(f"{given!r} is no address: give one such as http://127.0.0.1:7070")
        path = parts.path.rstrip("/")
        if path == "/v1" or path.endswith("/v1"):
            raise PalestraError(f"{given!r} ends with /v1: leave that out, the client adds it")
        secret = (key or os.environ.get("PALESTRA_API_KEY") or "").strip()
        if not (secret.isascii() and secret.isprintable()):
            raise PalestraError("the key holds characters that no key has: copy it again, or check PALESTRA_API_KEY")
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return cls(f"{parts.scheme}://{parts.netloc}{path}", headers, _proxy(parts.scheme, parts.hostname or ""))


def _proxy(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for HTTP of this scheme, as ``HTTP_PROXY`` and ``NO_PROXY`` do; none for this machine."""
    try:
        is_here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    if is_here or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if proxy and not proxy.startswith(("http://", "https://")):
        raise PalestraError(f"the proxy {proxy!r} of the environment is none of HTTP: name one with {scheme.upper()}_PROXY, or the host in NO_PROXY")
    return proxy
