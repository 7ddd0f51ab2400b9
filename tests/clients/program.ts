// A program over the types of openapi-typescript: it creates, generates and purges memories.
// Arguments: the address of the service, an API key, and the name of an engine.
import type { components, operations } from "./schema.js";

declare const process: { argv: string[] };

type Operation = components["schemas"]["Operation"];
type Body<Method extends "createMemory" | "generateMemories" | "purgeMemories"> =
  operations[Method]["requestBody"]["content"]["application/json"];

const [url, key, engine] = process.argv.slice(2);
const bank = `${url}/v1beta1/${engine}`;

async function call(path: string, body?: object): Promise<Operation> {
  const answer = await fetch(path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
  });
  const operation = (await answer.json()) as Operation;
  return operation.done ? operation : call(`${url}/v1beta1/${operation.name}:wait`);
}

const scope = { user_id: "42" };
const memory: Body<"createMemory"> = { fact: "I like tea.", scope, displayName: "taste" };
const given: Body<"generateMemories"> = {
  scope,
  directMemoriesSource: { directMemories: [{ fact: "I live in Bergen." }] },
};
const every: Body<"purgeMemories"> = { filter: 'scope.user_id="42"', force: true };
// @ts-expect-error a fact is text
const wrong: Body<"createMemory"> = { fact: 1, scope };

for (const [path, body] of [
  ["memories", memory],
  ["memories:generate", given],
  ["memories:purge", every],
] as const) {
  const { response } = await call(`${bank}/${path}`, body);
  switch (response?.["@type"]) {
    case "type.googleapis.com/google.cloud.aiplatform.v1beta1.Memory":
      console.log(response.fact, response.displayName);
      break;
    case "type.googleapis.com/google.cloud.aiplatform.v1beta1.GenerateMemoriesResponse":
      console.log(...(response.generatedMemories ?? []).map((made) => made.action));
      break;
    case "type.googleapis.com/google.cloud.aiplatform.v1beta1.PurgeMemoriesResponse":
      console.log(response.purgeCount);
      break;
    default:
      throw new Error(`unexpected: ${JSON.stringify(response)} ${wrong}`);
  }
}
