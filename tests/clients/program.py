"""A program over a client of openapi-python-client: it creates, generates and purges memories.

Arguments: the address of the service, an API key, and the name of an engine.
"""

import sys

from bank_client import AuthenticatedClient
from bank_client.api.generation import generate_memories
from bank_client.api.memories import create_memory, purge_memories
from bank_client.api.operations import wait_operation
from bank_client.models import (
    AnsweredMemory,
    CreateMemoryRequest,
    CreateMemoryRequestScope,
    DirectMemoriesSource,
    DirectMemory,
    ErrorBody,
    GenerateMemoriesRequest,
    GenerateMemoriesRequestScopeType0,
    GenerateMemoriesResponse,
    Operation,
    PurgeMemoriesRequest,
    PurgeMemoriesResponse,
)

SCOPE = {"user_id": "42"}


def main(url: str, key: str, name: str) -> None:
    """Print what each method answered."""
    client = AuthenticatedClient(base_url=url, token=key)
    _, project, _, location, _, engine = name.split("/")

    def done(answer: Operation | ErrorBody | None) -> Operation:
        assert isinstance(answer, Operation), answer
        if answer.done:
            return answer
        operation = answer.name.rpartition("/")[2]
        ended = wait_operation.sync(project, location, engine, operation, client=client)
        assert isinstance(ended, Operation)
        assert ended.done, ended
        return ended

    new = CreateMemoryRequest(
        fact="I like tea.", scope=CreateMemoryRequestScope.from_dict(SCOPE), display_name="taste"
    )
    created = done(create_memory.sync(project, location, engine, client=client, body=new)).response
    assert isinstance(created, AnsweredMemory)
    print(created.fact, created.display_name)

    given = GenerateMemoriesRequest(
        scope=GenerateMemoriesRequestScopeType0.from_dict(SCOPE),
        direct_memories_source=DirectMemoriesSource([DirectMemory("I live in Bergen.")]),
    )
    asked = generate_memories.sync(project, location, engine, client=client, body=given)
    generated = done(asked).response
    assert isinstance(generated, GenerateMemoriesResponse)
    print(*(memory.action for memory in generated.generated_memories or ()))

    every = PurgeMemoriesRequest(filter_='scope.user_id="42"', force=True)
    asked = purge_memories.sync(project, location, engine, client=client, body=every)
    purged = done(asked).response
    assert isinstance(purged, PurgeMemoriesResponse)
    print(purged.purge_count)

    refused = create_memory.sync(
        project, location, engine, client=client, body=CreateMemoryRequest(scope=new.scope)
    )
    assert isinstance(refused, ErrorBody)
    print(refused.error.status)


main(*sys.argv[1:])
