// A LangGraph.js store in Open Memory Bank.

import { BaseStore } from "@langchain/langgraph-checkpoint";
import type {
  GetOperation, Item, ListNamespacesOperation, MatchCondition, Operation, OperationResults,
  PutOperation, SearchItem, SearchOperation,
} from "@langchain/langgraph-checkpoint";

import type { Client } from "./client.js";
import { ApiError } from "./errors.js";
import {
  WRITTEN_HERE, contentOf, groupsOf, keyAndValue, memoryIdOf, namespaceOf, scopeOf, scopesFilter,
} from "./store-values.js";
import type { Levels, Namespace } from "./store-values.js";
import type * as types from "./types.js";

const MOST_FOUND = 100;
const MOST_NAMESPACES = 20;
const PAGE_ROWS = 100;
const UPDATE_MASK = "fact,metadata,expire_time";

/** How a store lays out its items. */
export interface StoreOptions {
  /** Names of the labels of all namespaces, at most 5. */
  levels?: readonly string[];
  /** Fields of values, of which the first that is a text is searched; else the whole value. */
  indexFields?: readonly string[];
}

/**
 * A store whose items are memories: searched by meaning and words, each change a revision.
 *
 * A namespace is one scope, `{ namespace: "memories.42" }`; with `levels` each label is a pair,
 * `{ kind: "memories", user_id: "42" }`, so that keys bound to a user can use it. The limits are
 * those of the Python client's store; what is not served is a RangeError or a TypeError.
 */
export class MemoryBankStore extends BaseStore {
  readonly #bank: Client;
  readonly #levels: Levels;
  readonly #fields: readonly string[];

  constructor(bank: Client, options: StoreOptions = {}) {
    super();
    this.#bank = bank;
    this.#levels = options.levels;
    this.#fields = options.indexFields ?? ["content", "text", "memory"];
  }

  /** Do operations, reads first; of several puts to one key the last counts. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, PutOperation>();
    for (const op of operations) {
      if ("value" in op) puts.set(JSON.stringify([op.namespace, op.key]), op);
    }
    const found = await Promise.all(operations.map((op) => this.#read(op)));
    await Promise.all(Array.from(puts.values(), (op) => this.#put(op)));
    return found as OperationResults<Op>;
  }

  async #read(op: Operation): Promise<unknown> {
    if ("value" in op) return undefined;
    if ("namespacePrefix" in op) return this.#search(op);
    return "key" in op ? this.#get(op) : this.#namespaces(op);
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    scopeOf(namespace, this.#levels); // its depth
    const asked = this.#bank.memories.get(await memoryIdOf(namespace, key));
    const memory = await unless("NOT_FOUND", asked);
    return memory ? itemOf(namespace, memory) : null;
  }

  async #put({ namespace, key, value, index }: PutOperation): Promise<void> {
    const { memories } = this.#bank;
    const memoryId = await memoryIdOf(namespace, key);
    if (value === null) {
      await unless("NOT_FOUND", memories.delete(memoryId));
      return;
    }
    if (index && index.join() !== this.#fields.join()) {
      throw new TypeError(`index must be ${this.#fields}; got ${index}.`);
    }
    const scope = scopeOf(namespace, this.#levels);
    const content = contentOf(key, value, this.#fields, index !== false);
    if (await unless("ALREADY_EXISTS", memories.create({ scope, memoryId, ...content }))) return;
    const changed = { updateMask: UPDATE_MASK, ...content };
    if (await unless("NOT_FOUND", memories.update(memoryId, changed))) return;
    await memories.undelete(memoryId); // deleted, and still recoverable
    await memories.update(memoryId, changed);
  }

  async #search(op: SearchOperation): Promise<SearchItem[]> {
    const { query, offset = 0, limit = 10 } = op;
    const groups = groupsOf(op.filter, query !== undefined);
    const most = offset + limit;
    if (query !== undefined && most > MOST_FOUND) {
      throw new RangeError(`With a query, offset and limit must be ${MOST_FOUND} together.`);
    }
    if (most <= 0) return [];
    const namespaces = await this.#below(op.namespacePrefix);
    const hits = namespaces.map((namespace) => this.#hits(namespace, query, most, groups));
    const rows = (await Promise.all(hits)).flat();
    if (query !== undefined) rows.sort((one, other) => (other.score ?? 0) - (one.score ?? 0));
    else if (namespaces.length > 1) rows.sort((one, other) => +other.updatedAt - +one.updatedAt);
    return rows.slice(offset, most);
  }

  async #hits(
    namespace: Namespace, query: string | undefined, most: number, groups: types.FilterGroup[],
  ): Promise<SearchItem[]> {
    const found = this.#bank.memories.retrieve({
      scope: scopeOf(namespace, this.#levels),
      filter: WRITTEN_HERE,
      filterGroups: groups,
      ...(query === undefined ? { pageSize: Math.min(most, PAGE_ROWS) } : { query, topK: most }),
    });
    const rows = await found.first(most);
    return rows.map(({ memory, distance }) => {
      const score = query === undefined || distance == null ? undefined : 1 - distance / 2;
      return { ...itemOf(namespace, memory), ...(score === undefined ? {} : { score }) };
    });
  }

  /** Return the namespaces that a search with a prefix asks. */
  async #below(prefix: Namespace): Promise<Namespace[]> {
    if (this.#levels && prefix.length >= this.#levels.length) return [prefix];
    const found = await unless("PERMISSION_DENIED", this.#known(prefix));
    if (!found) return prefix.length && !this.#levels ? [prefix] : [];
    if (found.length > MOST_NAMESPACES) {
      throw new RangeError(`More than ${MOST_NAMESPACES} namespaces begin with ${prefix}.`);
    }
    return found;
  }

  async #known(prefix: Namespace): Promise<Namespace[]> {
    const filter = scopesFilter(prefix, this.#levels);
    const rows = await this.#bank.memories.scopes({ filter, pageSize: PAGE_ROWS }).toArray();
    const found = rows.flatMap(({ scope }) => [namespaceOf(scope, this.#levels) ?? []]);
    return found.filter((namespace) =>
      namespace.length && prefix.every((label, place) => namespace[place] === label));
  }

  async #namespaces(op: ListNamespacesOperation): Promise<Namespace[]> {
    const known = await this.#known([]);
    const matching = known.filter((namespace) =>
      (op.matchConditions ?? []).every((condition) => matches(namespace, condition)));
    const cut = matching.map((namespace) => JSON.stringify(namespace.slice(0, op.maxDepth)));
    const sorted = [...new Set(cut)].sort().map((text) => JSON.parse(text) as Namespace);
    return sorted.slice(op.offset, op.offset + op.limit);
  }
}

/** Return what is answered; undefined if the service refuses it with a status. */
async function unless<T>(status: string, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiError && error.status === status) return undefined;
    throw error;
  }
}

function itemOf(namespace: Namespace, memory: types.Memory): Item {
  const [key, value] = keyAndValue(memory.metadata ?? {});
  const [createdAt, updatedAt] = [new Date(memory.createTime), new Date(memory.updateTime)];
  return { namespace, key, value, createdAt, updatedAt };
}

function matches(namespace: Namespace, { matchType, path }: MatchCondition): boolean {
  const begin = matchType === "prefix" ? 0 : namespace.length - path.length;
  return begin >= 0 && path.every((label, place) =>
    label === "*" || label === namespace[begin + place]);
}
