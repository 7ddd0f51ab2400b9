export { Client } from "./client.js";
export type { ClientOptions } from "./client.js";
export { ApiError, MemoryBankError, OperationFailed, Unreachable, WaitTimeout } from "./errors.js";
export type { Detail, FieldViolation } from "./errors.js";
export type { Content, Finding, Sending, Sent, Telling, Waiting } from "./group.js";
export type { Items, Page } from "./items.js";
export type { Operation } from "./operation.js";
export type { MetadataValue } from "./request.js";
export type * as types from "./types.js";
