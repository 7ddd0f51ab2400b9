"""Keep a page off the prompt, and save an answer from it to disk, unseen by the model."""

import json
import os
from functools import partial

import httpx

from open_memory_bank import Client

PAGE = {"kind": "text", "text": "The greenhouse opens at ten. The code of its door is 7419."}
AUTH = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
MODEL = httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], headers=AUTH, timeout=60)

with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    tasks, rules = bank.task_memory, {"user_id": "42", "sensitive": True, "off_prompt": True}
    export = partial(tasks.export, sink="out")
    run = {"query_task_memory": tasks.query, "export_task_memory": export}
    page = tasks.process_output("tools", tool="web", activity="fetch", output=PAGE, **rules)
    asked = f"Save the door's code as door.txt.\n{page['promptText']}"
    messages, tools = [{"role": "user", "content": asked}], tasks.tool_specs()["openai"]
    body = {"model": "scripted", "messages": messages, "tools": tools}
    ask = partial(MODEL.post, "chat/completions", json=body)
    while (said := ask().json()["choices"][0]["message"]).get("tool_calls"):
        (call,) = said["tool_calls"]
        name, args = call["function"]["name"], json.loads(call["function"]["arguments"])
        print(f"{name}: {args.get('query') or args['file_name']}")
        text = run[name](args.pop("memory"), args.pop("namespace"), **args).get("promptText", "OK")
        messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": text}]
    print(said["content"])
