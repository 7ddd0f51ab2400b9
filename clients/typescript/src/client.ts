// The client.

import { Groups } from "./groups.js";
import { engineOf } from "./request.js";
import { Transport } from "./transport.js";

const URL_HERE = "http://127.0.0.1:8000";
const KEY = /^[!-~]+$/;
const LOOPBACK = /^(?:localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/;

/** What a client may be told; all of it may be absent. */
export interface ClientOptions {
  /** Address of the service; else `MEMORY_BANK_CLIENT_URL`, else `http://127.0.0.1:8000`. */
  url?: string;
  /** API key or token; else `MEMORY_BANK_CLIENT_KEY`. */
  key?: string;
  /** Id or full name of an engine, `1` if absent. */
  engine?: string;
  /** Seconds that an answer may take, 30 if absent. */
  timeout?: number;
  /** Times that a request is sent again, 3 if absent. */
  retries?: number;
  /** A function to send with, for proxies and tests. */
  fetch?: typeof fetch;
}

/** A client of one engine of a service. Nothing is sent before a method is called. */
export class Client extends Groups {
  readonly #options: ClientOptions;
  readonly #transport: Transport;

  /** Throws a TypeError if the address, the key or the engine is wrong. */
  constructor(options: ClientOptions = {}) {
    const variables = environment();
    const url = addressOf(options.url || variables["MEMORY_BANK_CLIENT_URL"] || URL_HERE);
    const key = options.key || variables["MEMORY_BANK_CLIENT_KEY"] || undefined;
    if (key !== undefined && !KEY.test(key)) {
      throw new TypeError("key must be of printable ASCII characters, without spaces.");
    }
    if (key !== undefined && url.protocol === "http:" && !LOOPBACK.test(url.hostname)) {
      warn(url.hostname);
    }
    const transport = new Transport({
      url: url.href.replace(/\/+$/, ""),
      key,
      engine: engineOf(options.engine ?? "1"),
      timeout: options.timeout ?? 30,
      retries: options.retries ?? 3,
      fetch: options.fetch ?? ((...request) => fetch(...request)),
    });
    super(transport);
    this.#options = options;
    this.#transport = transport;
  }

  /** The full name of its engine. */
  get engine(): string {
    const { parent, id } = this.#transport.engine;
    return decodeURIComponent(`${parent}/${id}`);
  }

  /** Return a client of another engine, by its id or full name. */
  at(engine: string): Client {
    return new Client({ ...this.#options, engine });
  }
}

const warned = new Set<string>();

function warn(host: string): void {
  if (!warned.has(host)) console.warn(`The key travels unencrypted to ${host}; use https.`);
  warned.add(host);
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isMore = url && (url.username || url.password || url.search || url.hash);
  if (!url || isMore || !["http:", "https:"].includes(url.protocol)) {
    throw new TypeError("url must be http://HOST or https://HOST, with no password and no query.");
  }
  return url;
}

/** The variables of the process; a page has none. */
function environment(): Record<string, string | undefined> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}
