"""The wire form of retrieval. Source: wire specification, sections 7 and 11."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from app.kernel.ranking import Ranking
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp, one_of
from app.memory.memories.schemas.memories import Memory, Scope
from app.memory.memories.schemas.metadata import FilterGroups
from app.platform.engines.logic.config import MaxDistance, MemoryTypeField
from app.platform.engines.logic.topics import MAX_FACT_CHARS


class SimilaritySearchParams(WireModel):
    """Search by meaning."""

    search_query: str = Field(
        min_length=1,
        max_length=MAX_FACT_CHARS,
        examples=["Where does the user like to sit?"],
        description="Question or words to compare with the facts by meaning.",
    )
    top_k: int | None = Field(
        None,
        ge=0,
        description="Maximum number of memories; default 3; above 100 is coerced to 100.",
    )
    max_distance: MaxDistance | None = Field(
        None,
        description="Memories farther from the query are left out, from above 0 to 2;"
        " `omittedCount` counts them. Absent: as in the engine's `similaritySearchConfig`."
        " Distances of different embedders are not comparable.",
    )


class SimpleRetrievalParams(WireModel):
    """The memories of the scope, newest first."""

    page_size: int | None = Field(
        None,
        ge=0,
        description="Maximum number of memories; default 3; above 100 is coerced to 100.",
    )
    page_token: str | None = Field(
        None,
        description="Empty for the first page, then the `nextPageToken` of the page before. The"
        " response to a request without this field has no `nextPageToken`.",
    )


class RetrieveMemoriesRequest(WireModel):
    """The memories of a scope to return."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "scope": {"user_id": "42"},
                    "similaritySearchParams": {
                        "searchQuery": "Where does the user like to sit?",
                        "topK": 3,
                    },
                }
            ]
        }
    )

    scope: Scope
    similarity_search_params: SimilaritySearchParams | None = Field(
        None,
        description="Search by meaning; the best memories come first. At most one of this and"
        " `simpleRetrievalParams`.",
    )
    simple_retrieval_params: SimpleRetrievalParams | None = Field(
        None,
        description="Page through the scope, the newest memories first; so it is also without"
        " either.",
    )
    filter: str | None = Field(None, description="An AIP-160 filter.")
    filter_groups: FilterGroups | None = Field(
        None,
        description="Groups of conditions on metadata; a memory must match at least one group.",
    )
    memory_types: list[MemoryTypeField] | None = Field(
        None,
        description="Types of memories to return; absent or empty: natural-language memories only.",
    )
    max_tokens: int | None = Field(
        None,
        ge=0,
        description="Limit of the tokens of all facts, about four characters each. Memories that"
        " would exceed it are left out, the best are taken first, and none is cut. 0: no limit.",
    )
    explain: bool = Field(False, description="True: each memory has an `explanation` of its rank.")
    ranking: Annotated[Ranking, one_of(Ranking)] | None = Field(
        None,
        description="Order of this search, `hybrid` or `vector`; absent: the engine's order. Only"
        " with `similaritySearchParams`.",
    )

    @field_validator("ranking")
    @classmethod
    def _orders_a_search(cls, ranking: Ranking | None, info: ValidationInfo) -> Ranking | None:
        if ranking is not None and info.data.get("similarity_search_params", "wrong") is None:
            raise ValueError("must come with similaritySearchParams: it orders a search alone")
        return ranking

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if self.similarity_search_params and self.simple_retrieval_params:
            raise ValueError(
                "must have at most one of similaritySearchParams and simpleRetrievalParams"
            )
        return self


class SourceEvent(WireModel):
    """The event that a memory was made of."""

    source: str = Field(
        description="The name of the session, a digest of the conversation, or the `source` in the"
        " memory's metadata."
    )
    position: float | None = Field(None, description="The number of the event in the source.")


class Explanation(WireModel):
    """The reasons for a memory's place. Not in the API's definition; only with `explain`."""

    ranking: Ranking | None = Field(
        None, description="The ranking of the search; only with a search."
    )
    vectors_unavailable: bool | None = Field(
        None,
        description="True: the model could not embed the query, so only words and signals count.",
    )
    vectors_unsuited: bool | None = Field(
        None,
        description="True: the model of the vectors is not known to understand the language of the"
        " query. The vectors count as usual, but matching words are more reliable.",
    )
    vector_distance: float | None = Field(
        None, description="Euclidean distance of the embeddings, 0 to 2, if they were compared."
    )
    lexical_score: float | None = Field(
        None, description="Weight of the words that it shares with the query; only in `hybrid`."
    )
    signals: dict[str, float] | None = Field(
        None, description="Contribution of each signal to its score, by name; only in `hybrid`."
    )
    tokens: int = Field(description="Tokens that it takes of `maxTokens`.")
    event_time: Timestamp | None = Field(
        None, description="Time of the statement, if known; output only."
    )
    source_event: SourceEvent | None = Field(
        None, description="Source of the statement, if known; output only."
    )


class RetrievedMemory(WireModel):
    """A memory and its distance from the query."""

    memory: Memory = Field(description="The memory.")
    distance: float | None = Field(
        None,
        description="Distance from the query, 0 to 2, ascending; only with a search. The same"
        " text is at 0. In the ranking `vector` it is the Euclidean distance of the embeddings.",
    )
    explanation: Explanation | None = Field(
        None, description="Reasons for its place; only with `explain`."
    )


class RetrieveMemoriesResponse(WireModel):
    """The memories: best first with a search, else newest first."""

    retrieved_memories: list[RetrievedMemory] = Field(
        description="The memories of this page, with their distances in a search."
    )
    next_page_token: str | None = Field(
        None,
        description="Token of the next page; absent on the last page, and if the request did not"
        " ask for pages.",
    )
    omitted_count: int | None = Field(
        None,
        description="The number of omitted memories: among the best `topK`, memories farther than"
        " the `maxDistance` of the request or the engine, and memories beyond the size of the"
        " response. Absent if there was no such distance, and all fitted.",
    )


class RetrieveProfilesRequest(WireModel):
    """The scope of the profiles to return."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": {"user_id": "42"}}]})

    scope: Scope


class MemoryProfile(WireModel):
    """A profile. Clients refuse any other field here. Source: wire specification, section 2.3."""

    schema_id: str = Field(
        description="Id of the schema in the engine's `structuredMemoryConfigs`."
    )
    profile: dict[str, Any] = Field(description="Values of the fields, by name.")


class RetrieveProfilesResponse(WireModel):
    """The profiles of a scope, by the id of their schema; only fields that have a value."""

    profiles: dict[str, MemoryProfile] | None = Field(
        None, description="The profiles, by the id of their schema; absent: there are none."
    )
