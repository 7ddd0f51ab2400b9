// Errors of the service, of the way to it, and of operations. Messages name the path of a request,
// never its key or its body.

import type { Operation } from "./operation.js";
import type * as types from "./types.js";

/** A field of a request that is wrong. */
export interface FieldViolation {
  field: string;
  description: string;
}

/** An entry of the details of an error, by its `@type`. */
export interface Detail {
  "@type": string;
  [name: string]: unknown;
}

/** Any error that this package throws about a request that was sent. */
export class MemoryBankError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No whole answer came: the connection failed, broke or took too long. */
export class Unreachable extends MemoryBankError {}

/** An answer that refuses a request. */
export class ApiError extends MemoryBankError {
  /** The name of the canonical code, such as `NOT_FOUND`; `UNKNOWN` for a page of a proxy. */
  readonly status: string;
  /** The HTTP status of the answer. */
  readonly code: number;
  /** The service's own reason, such as `RESOURCE_NOT_FOUND`; may be empty. */
  readonly reason: string;
  /** The fields that are wrong, each with a description. */
  readonly fieldViolations: readonly FieldViolation[];
  /** The whole details of the answer. */
  readonly details: readonly Detail[];
  /** The id under which the service's logs have the request; may be empty. */
  readonly requestId: string;
  /** Seconds after which the request may succeed; absent: not said. */
  readonly retryAfter: number | undefined;

  constructor(path: string, answer: Response, body: unknown) {
    const error = errorIn(body);
    const said = error.message ?? `HTTP status ${answer.status}${answer.ok ? " without JSON" : ""}`;
    const status = error.status ?? "UNKNOWN";
    const details = detailsIn(error.details);
    const reason = reasonOf(details);
    super(`${path}: ${said} (${reason ? `${status}, ${reason}` : status})`);
    this.status = status;
    this.code = answer.status;
    this.reason = reason;
    this.details = details;
    this.fieldViolations = details.flatMap(
      (detail) => (detail["fieldViolations"] as FieldViolation[] | undefined) ?? [],
    );
    this.requestId = answer.headers.get("x-request-id") ?? "";
    this.retryAfter = seconds(answer.headers.get("retry-after"));
  }
}

/** The work of an operation failed. */
export class OperationFailed extends MemoryBankError {
  /** The number of the canonical code, 1 to 16. */
  readonly code: number;
  /** The service's own reason; may be empty. */
  readonly reason: string;
  /** The operation as a whole, with the account of its work. */
  readonly operation: types.Operation;

  constructor(operation: types.Operation, error: types.OperationError) {
    super(`${operation.name}: ${error.message}`);
    this.code = error.code;
    this.reason = reasonOf(detailsIn(error.details));
    this.operation = operation;
  }
}

/** An operation was not done in time; it goes on. */
export class WaitTimeout extends MemoryBankError {
  /** Its handle, to go on waiting with. */
  readonly operation: Operation<unknown>;

  constructor(operation: Operation<unknown>, waitSeconds: number) {
    super(`${operation.name} is not done after ${waitSeconds} s; it goes on.`);
    this.operation = operation;
  }
}

function errorIn(body: unknown): { status?: string; message?: string; details?: unknown } {
  const error = (body as { error?: unknown } | null | undefined)?.error;
  return typeof error === "object" && error !== null ? error : {};
}

/** Return the entries that have a type, which those of a proxy may lack. */
function detailsIn(given: unknown): Detail[] {
  const found: unknown[] = Array.isArray(given) ? given : [];
  const isDetail = (one: unknown): one is Detail =>
    typeof (one as Detail | null)?.["@type"] === "string";
  return found.filter(isDetail);
}

function reasonOf(details: readonly Detail[]): string {
  const found = details.find((detail) => detail["@type"].endsWith("google.rpc.ErrorInfo"));
  return String(found?.["reason"] ?? "");
}

/** Return the seconds of `Retry-After`: a number, or from a proxy perhaps a date. */
function seconds(header: string | null): number | undefined {
  if (!header) return undefined;
  const found = Number(header);
  const left = Number.isNaN(found) ? (Date.parse(header) - Date.now()) / 1000 : found;
  return Number.isNaN(left) ? undefined : Math.max(0, left);
}
