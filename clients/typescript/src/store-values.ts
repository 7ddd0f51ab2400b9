// Namespaces, keys, values and filters of a LangGraph store, as scopes and memories. They are those
// of the Python client's store, so that both read what the other wrote.

import { typedValue } from "./request.js";
import type { FilterGroup, MemoryMetadataValue, MetadataCondition } from "./types.js";

export type Namespace = string[];
export type Levels = readonly string[] | undefined;
type Value = Record<string, unknown>;
type Plain = string | number | boolean;

const KEY = "lg_key";
/** The filter of the memories that a store wrote. */
export const WRITTEN_HERE = `metadata.${KEY}:*`;
const VALUE = "lg_value_";
const UNINDEXED = "lg_unindexed";
const FIELD = "v_";
const PIECE_CHARS = 4000;
const MOST_PIECES = 24;
const MOST_FIELDS = 20;
const MOST_NAME_CHARS = 126;
const MOST_FACT_CHARS = 10_000;
const MOST_GROUPS = 50;
const ID_CHARS = 40;
const OPERATORS: Record<string, Array<"EQUAL" | "GREATER_THAN" | "LESS_THAN">> = {
  $eq: ["EQUAL"],
  $ne: ["EQUAL"],
  $gt: ["GREATER_THAN"],
  $lt: ["LESS_THAN"],
  $gte: ["GREATER_THAN", "EQUAL"],
  $lte: ["LESS_THAN", "EQUAL"],
};

/** Return the scope of a namespace. */
export function scopeOf(namespace: Namespace, levels: Levels): Record<string, string> {
  if (!levels) return { namespace: namespace.join(".") };
  if (namespace.length !== levels.length) {
    throw new RangeError(`A namespace must have ${levels.length} labels; got ${namespace}.`);
  }
  return Object.fromEntries(levels.map((level, place) => [level, namespace[place] ?? ""]));
}

/** Return the namespace of a scope; undefined if it is none of a store. */
export function namespaceOf(scope: Record<string, string>, levels: Levels): Namespace | undefined {
  const names = levels ?? ["namespace"];
  const labels = names.flatMap((name) => scope[name] ?? []);
  const counts = [labels.length, Object.keys(scope).length];
  if (counts.some((count) => count !== names.length)) return undefined;
  return levels ? labels : labels[0]?.split(".");
}

/** Return the filter of the scopes whose namespaces begin with a prefix. */
export function scopesFilter(prefix: Namespace, levels: Levels): string {
  if (levels) {
    const pairs = prefix.map((label, place) => [levels[place], label].map((it) => quoted(it)));
    return pairs.map(([level, label]) => `scope.${level}=${label}`).join(" AND ");
  }
  if (!prefix.length) return "";
  const begin = prefix.join(".").replace(/[!-/:-@[-^`{-~]/g, "\\$&");
  return `scope.namespace=~${quoted(`(?s)${begin}([.].*)?`)}`;
}

/** Return the id of the memory of a key. */
export async function memoryIdOf(namespace: Namespace, key: string): Promise<string> {
  const text = `[${[...namespace, key].map((label) => quoted(label)).join(", ")}]`;
  const ascii = text.replace(/[\u007f-\uffff]/g, (sign) =>
    `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(ascii));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return `lg-${hex.join("").slice(0, ID_CHARS)}`;
}

/** Return the fact and the metadata of an item. */
export function contentOf(
  key: string, value: Value, fields: readonly string[], isIndexed: boolean,
): { fact: string; metadata: Record<string, Plain> } {
  const text = JSON.stringify(value);
  const signs = Array.from(text); // no piece ends within a sign
  if (signs.length > PIECE_CHARS * MOST_PIECES) {
    const most = PIECE_CHARS * MOST_PIECES;
    throw new RangeError(`A value must have at most ${most} characters; got ${signs.length}.`);
  }
  const metadata: Record<string, Plain> = { [KEY]: key };
  for (let start = 0; start < signs.length; start += PIECE_CHARS) {
    const piece = signs.slice(start, start + PIECE_CHARS).join("");
    metadata[`${VALUE}${start / PIECE_CHARS}`] = piece;
  }
  Object.assign(metadata, fieldsOf(value), isIndexed ? {} : { [UNINDEXED]: true });
  const found = fields.map((field) => value[field]).find(isText);
  const fact = !isIndexed && key.trim() ? key : (found ?? text);
  return { fact: Array.from(fact).slice(0, MOST_FACT_CHARS).join(""), metadata };
}

/** Return the key and the value that metadata hold. */
export function keyAndValue(metadata: Record<string, MemoryMetadataValue>): [string, Value] {
  let text = "";
  for (let place = 0; metadata[`${VALUE}${place}`]; place += 1) {
    text += metadata[`${VALUE}${place}`]?.stringValue ?? "";
  }
  return [metadata[KEY]?.stringValue ?? "", JSON.parse(text) as Value];
}

/** Return the filter groups of a store's filter; of a search also without what is not indexed. */
export function groupsOf(wanted: Value = {}, isSearch: boolean): FilterGroup[] {
  const own: MetadataCondition[] = isSearch
    ? [{ key: UNINDEXED, value: { boolValue: true }, negate: true }]
    : [];
  const groups = Object.entries(wanted)
    .flatMap(([name, value]) => comparisons(name, value))
    .reduce(
      (found, choices) => found.flatMap((group) => choices.map((choice) => [...group, choice])),
      [own],
    );
  if (groups.length > MOST_GROUPS) {
    throw new RangeError(`A filter may make ${MOST_GROUPS} groups; got ${groups.length}.`);
  }
  return groups.filter((filters) => filters.length).map((filters) => ({ filters }));
}

/** Return for each comparison of a field the conditions of which one must hold. */
function comparisons(name: string, value: unknown): MetadataCondition[][] {
  const isObject = typeof value === "object" && value !== null;
  const operators = Object.entries(isObject ? value : { $eq: value });
  if (!operators.length) throw new TypeError(`The filter of ${name} is not served.`);
  return operators.map(([operator, operand]: [string, unknown]) => {
    const ops = OPERATORS[operator];
    const isEquality = operator === "$eq" || operator === "$ne";
    if (!ops || !isPlain(operand) || (!isEquality && typeof operand !== "number")) {
      throw new TypeError(`The filter ${operator} of ${name} is not served.`);
    }
    const negate = operator === "$ne" ? { negate: true } : {};
    return ops.map((op) => ({ key: `${FIELD}${name}`, op, value: typedValue(operand), ...negate }));
  });
}

/** Return the values at the top that a filter can ask for. */
function fieldsOf(value: Value): Record<string, Plain> {
  const plain = Object.entries(value).filter(
    (row): row is [string, Plain] => isPlain(row[1])
      && Array.from(row[0]).length <= MOST_NAME_CHARS
      && Array.from(String(row[1])).length <= PIECE_CHARS,
  );
  return Object.fromEntries(
    plain.slice(0, MOST_FIELDS).map(([name, inner]) => [`${FIELD}${name}`, inner]),
  );
}

function isPlain(value: unknown): value is Plain {
  return ["string", "number", "boolean"].includes(typeof value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function quoted(text: string | undefined): string {
  return JSON.stringify(text ?? "");
}
