/** Calls that must not compile: `tsc --project test` fails where one of the marked lines is no error. Nothing here runs. */

import type { Client, Stream } from "palestra";

export async function refused(client: Client, stream: Stream): Promise<void> {
  // @ts-expect-error There is no such path.
  await client.request("get", "/v1/nothing");
  // @ts-expect-error The path has no such method.
  await client.request("put", "/v1/environments");
  // @ts-expect-error The path has parameters.
  await client.request("get", "/v1/episodes/{id}");
  // @ts-expect-error A run needs a lease.
  await client.request("post", "/v1/runs", { body: {} });
  // @ts-expect-error Sessions are not made of lines.
  await client.request("post", "/v1/sessions", { body: "{}", contentType: "application/jsonl" });
  // @ts-expect-error A GET has no body.
  await client.request("get", "/v1/whoami", { body: {} });
  // @ts-expect-error There is no such query.
  await client.request("get", "/v1/runs", { query: { colour: "red" } });
  // @ts-expect-error There is no such action.
  await stream.call("step", { session: "ses_1", action: { dance: true } });
  // @ts-expect-error A group has a number of sessions.
  await stream.openGroup({ environment: "bench/counter" });
  const whoami = await client.request("get", "/v1/whoami");
  // @ts-expect-error The answer has no such field.
  void whoami.colour;
}
