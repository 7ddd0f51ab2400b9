"""Talk with any model: of a long conversation, its prompt has a summary and the newest words."""

import os

import httpx

from open_memory_bank import Client

SAID = (
    "I am planning a trip to Lisbon in May, with my sister, who does not fly.",
    "We have five days and 900 euros for the two of us.",
    "I would rather sit at the window.",
    "What may the hotel cost?",
)
POLICY = {"strategy": "every_n", "every": 2, "keepRecent": 1, "summaryModel": "small"}
AUTH = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
MODEL = httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], headers=AUTH, timeout=60)

with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    trip = bank.sessions.create(user_id="42", memory_policy=POLICY)["name"]
    for said in SAID:
        wanted = {"pending_message": said, "format": "openai", "consistency": "wait"}
        prompt = bank.sessions.context(trip, **wanted)
        body = {"model": "scripted", "messages": prompt["messages"]}
        reply = MODEL.post("chat/completions", json=body).json()
        answer = reply["choices"][0]["message"]["content"]
        bank.sessions.exchange(trip, input=said, output=answer)
        print(f"{len(prompt['messages'])} messages: {answer}")
    print(bank.sessions.context(trip, format="text", framing=False)["text"])
