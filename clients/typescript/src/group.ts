// The base of all groups of methods.

import { Items } from "./items.js";
import type { Page } from "./items.js";
import { Operation } from "./operation.js";
import type { Body, Call, Ids } from "./request.js";
import type { Transport } from "./transport.js";
import type * as types from "./types.js";

const PAGE_ROWS = 100;

/** Arguments of every method. */
export interface Sending {
  /** Ends the request, and the wait for its work. */
  signal?: AbortSignal;
}

/** Arguments of methods that wait for work. */
export interface Waiting extends Sending {
  /** Time to wait for the work, 60 if absent. */
  waitSeconds?: number;
}

/** Arguments of methods that send a body. */
export interface Sent extends Sending {
  /** The media type of the body. */
  mediaType?: string;
}

/** Short forms of what was said; give one. */
export interface Telling {
  /** What the user said. */
  texts?: readonly string[];
  /** Pairs of a role, `user` or `model`, and its text. */
  turns?: ReadonlyArray<readonly [role: string, text: string]>;
  /** Memories to merge with those that are there, at most five. */
  facts?: readonly string[];
}

/** Short forms of a search. */
export interface Finding extends Sending {
  /** Text to search for. */
  query?: string;
  /** Most memories that a search finds, 1 to 100; absent: 3. */
  topK?: number;
  /** Leave out what is farther from the query, above 0 to 2. */
  maxDistance?: number;
  /** Memories of a page without a query, 1 to 100; absent: 100. */
  pageSize?: number;
}

/** A body: as it is, or rows that are sent as lines of JSON. */
export type Content = Body | Iterable<object>;

/** Methods for one kind of resource; those of generated groups call these. */
export class Group {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected _ask<T>(call: Call, ids: Ids, options: object, moreSeconds = 0): Promise<T> {
    return this.#transport.ask(call, ids, { ...options }, moreSeconds);
  }

  protected async _start<R>(
    call: Call, ids: Ids, options: Sending & Telling,
  ): Promise<Operation<R>> {
    return new Operation(this.#transport, await this._ask(call, ids, toldIn(options)));
  }

  protected async _done<R>(call: Call, ids: Ids, options: Waiting & Telling): Promise<R> {
    const operation = await this._start<R>(call, ids, options);
    return operation.wait(options.waitSeconds, options.signal);
  }

  protected _items<T>(
    call: Call, ids: Ids, options: { pageToken?: string | null }, field: string,
  ): Items<T> {
    const fetch = async (pageToken: string | undefined) =>
      pageOf<T>(await this._ask(call, ids, { ...options, pageToken }), field);
    return new Items(fetch, options.pageToken);
  }

  protected _found<T>(
    call: Call,
    ids: Ids,
    options: Finding & Partial<types.RetrieveMemoriesRequest>,
    field: string,
  ): Items<T> {
    const { query, topK, maxDistance, pageSize = PAGE_ROWS, ...rest } = options;
    const own = rest.simpleRetrievalParams ?? {};
    const search = { searchQuery: query, topK, maxDistance };
    const fetch = async (token: string | undefined) => {
      // Only a request with a token, perhaps empty, is answered with the next one.
      const paging = rest.maxTokens ? {} : { pageToken: token ?? "" };
      const listing = { simpleRetrievalParams: { pageSize, ...own, ...paging } };
      const wanted = query === undefined
        ? { ...(rest.similaritySearchParams ? {} : listing) }
        : { similaritySearchParams: search };
      return pageOf<T>(await this._ask(call, ids, { ...rest, ...wanted }), field);
    };
    return new Items(fetch, own.pageToken);
  }

  protected _rows<T>(call: Call, ids: Ids, options: object): AsyncGenerator<T> {
    return this.#transport.rows(call, ids, { ...options });
  }

  protected _content(call: Call, ids: Ids, options: object): Promise<Uint8Array> {
    return this.#transport.content(call, ids, { ...options });
  }

  protected async _text(call: Call, ids: Ids, options: object): Promise<string> {
    return new TextDecoder().decode(await this._content(call, ids, options));
  }

  protected _upload<T>(
    call: Call, ids: Ids, options: Sent, content: Content, mediaType: string,
  ): Promise<T> {
    const type = options.mediaType ?? mediaType;
    return this.#transport.upload(call, ids, { ...options }, bodyOf(content), type);
  }
}

function pageOf<T>(answer: Record<string, unknown>, field: string): Page<T> {
  const token = answer["nextPageToken"] as string | undefined;
  return { items: (answer[field] ?? []) as T[], nextPageToken: token || undefined, answer };
}

function bodyOf(content: Content): Body {
  const isWhole =
    typeof content === "string" || content instanceof Blob || content instanceof Uint8Array;
  return isWhole ? content : Array.from(content, (row) => `${JSON.stringify(row)}\n`).join("");
}

/** Return options in which short forms are those of the wire. */
function toldIn({ texts, turns, facts, ...options }: Telling): object {
  if ([texts, turns, facts].filter((given) => given !== undefined).length > 1) {
    throw new TypeError("Give one of texts, turns and facts.");
  }
  if (facts) {
    const directMemories = facts.map((fact) => ({ fact }));
    return { ...options, directMemoriesSource: { directMemories } };
  }
  const pairs = turns ?? texts?.map((text) => ["user", text] as const);
  const events = pairs?.map(([role, text]) => ({ content: { role, parts: [{ text }] } }));
  return events ? { ...options, directContentsSource: { events } } : options;
}
