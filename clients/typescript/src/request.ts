// One request: its path, its query, its headers and its body.

import type { MemoryMetadataValue } from "./types.js";

/** A value of a memory's metadata: plain, or by its kind as on the wire. */
export type MetadataValue = MemoryMetadataValue | string | number | boolean | Date;

/** An operation of the service. */
export interface Call {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query?: readonly string[];
  readonly body?: readonly string[];
  /** It takes an id of the request, under which it is done once. */
  readonly isChange?: boolean;
  /** False: doing it twice may do harm, and no id prevents it. */
  readonly isRepeatable?: boolean;
  readonly hasTypedMetadata?: boolean;
}

/** The place of an engine. */
export interface Engine {
  readonly parent: string;
  readonly id: string;
}

/** A request that can be sent, as often as needed. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly isRepeatable: boolean;
  readonly headers: Record<string, string>;
  readonly content?: Body;
}

export type Body = string | Blob | Uint8Array;
export type Ids = Readonly<Record<string, string>>;
export type Options = Readonly<Record<string, unknown>>;

const HEADERS: Ids = {
  idempotencyKey: "Idempotency-Key",
  etag: "If-Match",
  contentDigest: "Content-Digest",
};
/** Options of the client itself. */
const OWN = ["signal", "waitSeconds", "mediaType"];
const PLACE = "projects/([^/]+)/locations/([^/]+)/";
const NAME = new RegExp(`^(?:${PLACE})?reasoningEngines/([^/]+)(?:/(?:[^/]+/)*([^/]+))?$`);

/** Return the engine of an id or a full name. */
export function engineOf(name: string): Engine {
  const [found, project, location, id, rest] = NAME.exec(name) ?? [];
  if ((found === undefined && name.includes("/")) || rest !== undefined) {
    throw new TypeError(`engine must be an id or a full name; got ${JSON.stringify(name)}.`);
  }
  const place = [project ?? "default", location ?? "local"].map((part) => quoted("engine", part));
  return {
    parent: `projects/${place[0]}/locations/${place[1]}/reasoningEngines`,
    id: quoted("engine", id ?? name),
  };
}

/** Return the request of a call. Options that are undefined count as absent. */
export function requestOf(call: Call, engine: Engine, ids: Ids, options: Options): Request {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const known = [...(call.query ?? []), ...(call.body ?? []), ...Object.keys(HEADERS), ...OWN];
  const unknown = given.map(([name]) => name).filter((name) => !known.includes(name));
  if (unknown.length) throw new TypeError(`${call.id} takes no ${unknown.join(", ")}.`);

  const engines = `/v1beta1/${engine.parent}`;
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === "engines" ? engines
      : name === "engine" ? `${engines}/${engine.id}`
        : part(name, ids[name] ?? "", engine));
  const query = new URLSearchParams();
  const headers: Record<string, string> = { Accept: "*/*" };
  const body: Record<string, unknown> = {};
  for (const [name, value] of given) {
    const header = HEADERS[name];
    if (header !== undefined && value !== null) headers[header] = String(value);
    else if (call.query?.includes(name) && value !== null) query.set(name, String(value));
    else if (call.body?.includes(name)) body[name] = value;
  }
  if (call.isChange) headers["Idempotency-Key"] ??= randomId();
  if (call.hasTypedMetadata && body["metadata"]) body["metadata"] = typed(body["metadata"]);
  if (call.body) headers["Content-Type"] = "application/json";
  return {
    method: call.method,
    path: query.size ? `${path}?${query}` : path,
    isRepeatable: call.isRepeatable ?? true,
    headers,
    ...(call.body ? { content: JSON.stringify(body) } : {}),
  };
}

function part(name: string, value: string, engine: Engine): string {
  const [, , , id, rest] = NAME.exec(value) ?? [];
  if (rest !== undefined && id !== engine.id) {
    throw new TypeError(`${name} must be of engine ${engine.id}; got ${JSON.stringify(value)}.`);
  }
  return quoted(name, rest ?? (name === "key" ? value.replace(/^keys\//, "") : value));
}

function quoted(name: string, value: string): string {
  if (["", ".", ".."].includes(value)) {
    throw new TypeError(`${name} must be an id or a full name; got ${JSON.stringify(value)}.`);
  }
  return encodeURIComponent(value);
}

/** An id of a request; `crypto.randomUUID` is absent in pages without encryption. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function typed(metadata: object): Record<string, unknown> {
  const rows = Object.entries(metadata) as Array<[string, MetadataValue]>;
  return Object.fromEntries(rows.map(([name, value]) => [name, typedValue(value)]));
}

/** Return a value of metadata by its kind. */
export function typedValue(value: MetadataValue): MemoryMetadataValue {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "number") return { doubleValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return value instanceof Date ? { timestampValue: value.toISOString() } : value;
}
