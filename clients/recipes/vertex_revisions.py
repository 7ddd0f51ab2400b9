"""Vertex AI's sample of memory revisions, by its official client."""

import os

import agentplatform
from google.oauth2.credentials import Credentials

client = agentplatform.Client(
    project="default",
    location="local",
    credentials=Credentials(token=os.environ["MEMORY_BANK_CLIENT_KEY"]),
    http_options={"base_url": os.environ["MEMORY_BANK_CLIENT_URL"]},
)
memories = client.memory_banks.memories
bank = os.environ.get("RECIPE_ENGINE", "memoryBanks/1").replace("reasoningEngines", "memoryBanks")
for source, fact in (("321", "I live in Oslo."), ("654", "I moved to Bergen.")):
    memories.generate(
        name=bank,
        scope={"user_id": "42"},
        direct_memories_source={"direct_memories": [{"fact": fact}]},
        config={"revision_labels": {"data_source": source}},
    )
(memory,) = memories.list(name=bank)
for revision in memories.revisions.list(name=memory.name):
    print(revision.fact, revision.labels)
labelled = {"filter": 'labels.data_source="321"'}
(first,) = memories.revisions.list(name=memory.name, config=labelled)
memories.rollback(name=memory.name, target_revision_id=first.name.rpartition("/")[2])
print("Rolled back:", memories.get(name=memory.name).fact)
