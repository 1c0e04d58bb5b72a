/** A server as a child process, for the tests. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "palestra";

export const KEY = "typescript-client-key-0123456789";
const SECRET = "typescript-client-secret-0123456789abcdef0123456789abcdef";

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

/** One server that can be stopped and started again on the same port and data. */
export class Server implements AsyncDisposable {
  readonly port: number;
  readonly #data: string;
  readonly #flags: string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, data: string, flags: string[]) {
    this.port = port;
    this.#data = data;
    this.#flags = flags;
  }

  static async start(...flags: string[]): Promise<Server> {
    const server = new Server(await freePort(), await mkdtemp(join(tmpdir(), "palestra-typescript-")), flags);
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  client(): Client {
    return new Client({ url: this.url, key: KEY });
  }

  /** Resolves once the server says that it is ready. */
  async start(): Promise<void> {
    const binary = process.env["PALESTRA_BINARY"];
    if (!binary) throw new Error("PALESTRA_BINARY must name the palestra program");
    const environment = { PALESTRA_ADMIN_KEY: KEY, PALESTRA_SECRET: SECRET, PALESTRA_LOG: "warn", PALESTRA_WORKERS: "none" };
    const command = ["serve", "--listen", `127.0.0.1:${this.port}`, "--data", this.#data, ...this.#flags];
    const child = spawn(binary, command, {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.startsWith("ready")) continue;
      // What is printed later must not fill the pipe.
      child.stdout.resume();
      return;
    }
    throw new Error(`the server did not become ready (exit ${child.exitCode})`);
  }

  /** Ends the server; its data stays. */
  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGTERM");
    await rm(this.#data, { recursive: true });
  }
}
