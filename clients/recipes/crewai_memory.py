"""Give CrewAI's agents a memory: what one crew is told is known to the next."""

import os

from crewai import LLM, Agent, Crew, Memory, Task
from crewai.memory import MemoryMatch, MemoryRecord

from open_memory_bank import Client

NAME, URL = os.environ.get("RECIPE_MODEL", "scripted"), os.environ["OPENAI_BASE_URL"]
MODEL = LLM(model=NAME, provider="openai", base_url=URL)
SCOPE = {"user_id": "42"}


class BankMemory(Memory):
    """The crew's model finds facts in a task and its result; the bank merges and searches them."""

    bank: Client

    def remember_many(self, contents: list[str], **options: object) -> list[MemoryRecord]:
        """Remember facts."""
        return [self.remember(content, **options) for content in contents]

    def remember(self, content: str, **_: object) -> MemoryRecord:
        """Merge a fact with what the bank knows; scopes and importance of CrewAI do not count."""
        self.bank.memories.generate(scope=SCOPE, facts=[content])
        return MemoryRecord(content=content)

    def recall(self, query: str, limit: int = 10, **_: object) -> list[MemoryMatch]:
        """Return the facts nearest to a query."""
        found = self.bank.memories.retrieve(scope=SCOPE, query=query, top_k=limit)
        return [
            MemoryMatch(
                record=MemoryRecord(id=hit["memory"]["name"], content=hit["memory"]["fact"]),
                score=1 - hit["distance"] / 2,
            )
            for hit in found
        ]


def answer(bank: Client, said: str) -> str:
    """Answer one message, by a crew of its own."""
    agent = Agent(role="clerk", goal="Book seats.", backstory="You know your guests.", llm=MODEL)
    task = Task(description=said, expected_output="A short answer.", agent=agent)
    memory = BankMemory(bank=bank, llm=MODEL, storage=None)  # no database of its own
    return str(Crew(agents=[agent], tasks=[task], memory=memory).kickoff())


with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    print(answer(bank, "I prefer window seats."))
    print(answer(bank, "Where do I like to sit?"))

# prints: You like to sit at the window.
