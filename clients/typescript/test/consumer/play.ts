/** A program that compiles against the package with an older library and the module resolution of bundlers. Nothing here runs. */

import { Client, type Verdict } from "palestra";

export async function play(url: string, key: string): Promise<Verdict> {
  const stream = await new Client({ url, key }).stream({ giveUpMs: 1_000 });
  const session = await stream.open({ environment: "bench/counter" });
  await session.step({ tool: "add", arguments: { amount: 1 } });
  return session.verify();
}
