// The service's memory tools for the Vercel AI SDK.

import { dynamicTool, jsonSchema } from "ai";
import type { JSONSchema7, ToolSet } from "ai";

import type { Client } from "./client.js";

/** Which tools a model gets, and what they are about. */
export interface MemoryToolsOptions {
  /** Scope of the memories; absent: the one that the key's conditions fix. */
  scope?: Record<string, string>;
  /** The session that `recall_conversation` searches; absent: all of the user's. */
  session?: string;
  /** Names of tools; absent: all that the key may use. */
  tools?: readonly string[];
}

interface Spec {
  name: string;
  description: string;
  input_schema: JSONSchema7;
}

/** Return the memory tools, as `generateText` and its like take them. */
export async function memoryTools(
  bank: Client,
  { scope, session, tools }: MemoryToolsOptions = {},
): Promise<ToolSet> {
  const asked = { format: "anthropic", tools: tools?.join(","), session } as const;
  const { anthropic } = await bank.memoryTools.specs(asked);
  const specs = (anthropic ?? []) as unknown as Spec[];
  const made = specs.map(({ name, description, input_schema }) => {
    const execute = async (input: unknown, { abortSignal }: { abortSignal?: AbortSignal }) => {
      const given = input as Record<string, unknown>;
      const call = { name, arguments: given, scope, session, signal: abortSignal };
      return (await bank.memoryTools.call(call)).text;
    };
    return [name, dynamicTool({ description, inputSchema: jsonSchema(input_schema), execute })];
  });
  return Object.fromEntries(made) as ToolSet;
}
