// Sending of requests, with their retries.

import { ApiError, MemoryBankError, Unreachable } from "./errors.js";
import { requestOf } from "./request.js";
import type { Body, Call, Engine, Ids, Options, Request } from "./request.js";

const FIRST_SECONDS = 0.25;
const LONGEST_WAIT_SECONDS = 60;
const PERHAPS_DONE = [502, 503, 504];

/** What a transport is made of. */
export interface Settings {
  url: string;
  key: string | undefined;
  engine: Engine;
  timeout: number;
  retries: number;
  fetch: typeof fetch;
}

/** The way to one engine of a service. */
export class Transport {
  readonly #settings: Settings; // private, so that no log of a client shows the key

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get engine(): Engine {
    return this.#settings.engine;
  }

  /** Send a request and return the object that is answered. */
  async ask<T>(call: Call, ids: Ids, options: Options, moreSeconds = 0): Promise<T> {
    const request = requestOf(call, this.engine, ids, options);
    return this.#object(request, options, moreSeconds);
  }

  /** Send a body of any type, and return the object that is answered. */
  async upload<T>(
    call: Call, ids: Ids, options: Options, content: Body, mediaType: string,
  ): Promise<T> {
    const request = requestOf(call, this.engine, ids, options);
    request.headers["Content-Type"] = mediaType;
    return this.#object({ ...request, content }, options, 0);
  }

  /** Return an answer as it is, whatever its type. */
  async content(call: Call, ids: Ids, options: Options): Promise<Uint8Array> {
    const request = requestOf(call, this.engine, ids, options);
    const read = async (answer: Response) => new Uint8Array(await answer.arrayBuffer());
    return this.#send(request, options, 0, read);
  }

  /** Yield the JSON of each line of an answer of any length, as it comes. */
  async *rows<T>(call: Call, ids: Ids, options: Options): AsyncGenerator<T> {
    const request = requestOf(call, this.engine, ids, options);
    const answer = await this.#send(request, options, 0, async (found) => found);
    const reader = (answer.body ?? new Blob().stream()).getReader();
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((failure: unknown) => {
          throw unreachable(request, failure);
        });
        if (done) break;
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line) as T;
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
    if (rest) throw unreachable(request, "the answer broke off in a row");
  }

  #object<T>(request: Request, options: Options, moreSeconds: number): Promise<T> {
    return this.#send(request, options, moreSeconds, async (answer) => {
      const text = await answer.text();
      const found = parsed(text);
      if (typeof found !== "object" || found === null) throw refusal(request, answer, found);
      return found as T;
    });
  }

  async #send<T>(
    request: Request, options: Options, moreSeconds: number, read: (answer: Response) => Promise<T>,
  ): Promise<T> {
    const signal = options["signal"] as AbortSignal | undefined;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#once(request, signal, moreSeconds, read);
      } catch (failure) {
        signal?.throwIfAborted();
        const error = failure instanceof MemoryBankError ? failure : unreachable(request, failure);
        const seconds = wait(error, request, attempt);
        if (seconds === undefined || attempt >= this.#settings.retries) throw error;
        await pause(seconds, signal);
      }
    }
  }

  async #once<T>(
    request: Request,
    signal: AbortSignal | undefined,
    moreSeconds: number,
    read: (answer: Response) => Promise<T>,
  ): Promise<T> {
    const { url, key, timeout } = this.#settings;
    const limit = new AbortController();
    const late = () => limit.abort(new DOMException("no answer in time", "TimeoutError"));
    const timer = setTimeout(late, (timeout + moreSeconds) * 1000);
    try {
      const answer = await this.#settings.fetch(`${url}${request.path}`, {
        method: request.method,
        headers: key ? { ...request.headers, Authorization: `Bearer ${key}` } : request.headers,
        body: (request.content ?? null) as BodyInit | null,
        redirect: "manual",
        signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      });
      if (!answer.ok) throw refusal(request, answer, parsed(await answer.text()));
      return await read(answer);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Resolve after some seconds; reject at once if the signal is aborted. */
export function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, seconds * 1000);
    if (signal?.aborted) ended();
    else signal?.addEventListener("abort", ended, { once: true });
  });
}

/** Return the seconds before a request is sent again; undefined: it is not. */
function wait(error: MemoryBankError, request: Request, attempt: number): number | undefined {
  if (!passes(error, request)) return undefined;
  const asked = error instanceof ApiError ? error.retryAfter : undefined;
  if (asked !== undefined) return asked <= LONGEST_WAIT_SECONDS ? asked : undefined;
  return FIRST_SECONDS * 2 ** attempt * (0.5 + Math.random() / 2);
}

function passes(error: MemoryBankError, request: Request): boolean {
  if (!(error instanceof ApiError)) return request.isRepeatable;
  const isBeaten = error.status === "ABORTED" && error.reason === "CONCURRENT_CHANGE";
  const isAway = PERHAPS_DONE.includes(error.code);
  return error.code === 429 || isBeaten || (isAway && request.isRepeatable);
}

function refusal(request: Request, answer: Response, body: unknown): ApiError {
  return new ApiError(request.path.split("?")[0] ?? "", answer, body);
}

function unreachable(request: Request, failure: unknown): Unreachable {
  const said = failure instanceof Error ? failure.message : String(failure);
  const path = request.path.split("?")[0];
  return new Unreachable(`${request.method} ${path}: ${said}`, { cause: failure });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
