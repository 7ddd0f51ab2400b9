"""What task memory answers as a reference can stand in what is said, as it is."""

from datetime import UTC, datetime

from app.artifacts.tasks.logic import STORABLE, Reader
from app.artifacts.tasks.schemas import MAX_LISTED, ArtifactReference, Reference, Source
from app.kernel.wire.content import ArtifactRef, ReferredArtifact, ReferredSource
from app.platform.sessions.logic.event_text import mention_of

MOMENT = datetime(2026, 11, 24, tzinfo=UTC)


def _reference(count: int) -> Reference:
    kinds = sorted(STORABLE)
    artifacts = [
        ArtifactReference(
            name=f"a{n}",
            kind=kinds[n % len(kinds)],
            media_type="text/csv; charset=latin-1",
            size_bytes=n,
            token_estimate=n,
        )
        for n in range(count)
    ]
    return Reference(
        memory="m",
        namespace="n",
        artifacts=artifacts,
        count=2 * count,
        total_bytes=count**2,
        created_time=MOMENT,
        expire_time=MOMENT,
        readable_with=list(Reader),
        derived_from=[Source(namespace="o", name=one.name) for one in artifacts],
    )


def test_a_reference_is_taken_and_kept_as_it_is_answered() -> None:
    for count in (0, 1, 3, MAX_LISTED):
        wire = _reference(count).wire()
        assert ArtifactRef.model_validate(wire).wire() == wire
        assert mention_of(wire).startswith("[kept off prompt: memory=m namespace=n")


def test_it_has_the_fields_of_a_reference_and_no_others() -> None:
    pairs = (
        (ArtifactRef, Reference),
        (ReferredArtifact, ArtifactReference),
        (ReferredSource, Source),
    )
    for taken, answered in pairs:
        assert set(taken.model_fields) == set(answered.model_fields)
