/** A TCP proxy that cuts connections where it is told, for the tests. */

import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

/** What a proxy does with the bytes of one connection. */
export interface Connection {
  /** Bytes that the client sent so far. */
  sent: number;
  /** Bytes that the server answered so far. */
  answered: number;
  /** Ends both sides at once, without a farewell. */
  cut: () => void;
}

/**
 * Looks at each piece before it is passed on. Answers how many of its bytes are passed on: with fewer than all, the connection is
 * cut behind them. With "hold" the piece vanishes, and the connection stays.
 */
export type Policy = (connection: Connection, direction: "sent" | "answered", bytes: number) => number | "hold";

/** Passes everything on. */
export const passAll: Policy = (_, __, bytes) => bytes;

/** Cuts every connection behind a random number of bytes, those of both directions together. */
export function cutAtRandom(random: () => number, fewest: number, most: number): Policy {
  const budgets = new WeakMap<Connection, number>();
  return (connection, _, bytes) => {
    const budget = budgets.get(connection) ?? Math.floor(fewest + random() * (most - fewest));
    budgets.set(connection, budget);
    return Math.min(bytes, Math.max(0, budget - connection.sent - connection.answered));
  };
}

/** A generator of numbers in [0, 1) from a seed (mulberry32), so that a failure can be repeated. */
export function randomFrom(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Proxy implements AsyncDisposable {
  /** May be changed at any time. */
  policy: Policy = passAll;
  /** Connections that were accepted, the oldest first. */
  readonly connections: Connection[] = [];
  /** Number of connections that a policy cut. */
  cuts = 0;
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.#listener = createServer({ noDelay: true }, (client) => this.#join(client, target));
  }

  static async start(target: number): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.#listener.listen(0, "127.0.0.1");
    await once(proxy.#listener, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  #join(client: Socket, target: number): void {
    const server = connect({ port: target, host: "127.0.0.1", noDelay: true });
    const cut = () => {
      client.destroy();
      server.destroy();
    };
    const connection: Connection = { sent: 0, answered: 0, cut };
    this.connections.push(connection);
    const pass = (from: Socket, to: Socket, direction: "sent" | "answered") => {
      this.#sockets.add(from);
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      // A cut connection is an error for either side.
      from.on("error", () => {});
      from.on("data", (piece) => {
        if (from.destroyed || to.destroyed) return;
        const passed = this.policy(connection, direction, piece.length);
        connection[direction] += piece.length;
        if (passed === "hold") return;
        if (passed === piece.length) {
          to.write(piece);
          return;
        }
        this.cuts += 1;
        to.write(piece.subarray(0, passed), cut);
      });
    };
    pass(client, server, "sent");
    pass(server, client, "answered");
  }

  /** Ends all connections, and takes no more. */
  async close(): Promise<void> {
    const closed = once(this.#listener, "close");
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#listener.listening) await this.close();
  }
}
