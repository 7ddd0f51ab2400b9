// Lists that come in pages.

/** A page: its items, the token of the next (absent: this is the last), and the whole answer. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string | undefined;
  readonly answer: Readonly<Record<string, unknown>>;
}

/** The items of a list, page by page; nothing is asked before the first is wanted. */
export class Items<T> implements AsyncIterable<T> {
  readonly #fetch: (token: string | undefined) => Promise<Page<T>>;
  readonly #first: string | undefined;

  constructor(fetch: (token: string | undefined) => Promise<Page<T>>, first?: string | null) {
    this.#fetch = fetch;
    this.#first = first ?? undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const page of this.pages()) yield* page.items;
  }

  /** Yield the pages, each with the token of the next. */
  async *pages(): AsyncGenerator<Page<T>> {
    let token = this.#first;
    do {
      const page = await this.#fetch(token);
      yield page;
      token = page.nextPageToken;
    } while (token !== undefined);
  }

  /** Return all items. */
  toArray(): Promise<T[]> {
    return this.first(Infinity);
  }

  /** Return up to so many items, without asking for pages beyond them. */
  async first(most: number): Promise<T[]> {
    const found: T[] = [];
    if (most <= 0) return found;
    for await (const item of this) {
      found.push(item);
      if (found.length >= most) break;
    }
    return found;
  }
}
