"""Teaches schemathesis the media types of data sets: text, as it generates it."""

import schemathesis

schemathesis.serializer.alias(["application/jsonl", "application/x-ndjson"], "text/plain")
