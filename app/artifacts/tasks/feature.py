"""Registration of tasks."""

from app.adapters.batches import spread, swept
from app.adapters.resources import Archived
from app.artifacts.tasks import jobs
from app.artifacts.tasks.routes import artifacts, namespaces
from app.artifacts.tasks.schemas.archived import (
    ArchivedArtifact,
    ArchivedNamespace,
    ArchivedPage,
    ArchivedToolPolicy,
)
from app.artifacts.tasks.services.tasks import complete
from app.artifacts.tasks.store import contents, erasure, repository
from app.artifacts.tasks.store.erasure import COUNTED, ERASURES, EXAMINATIONS
from app.artifacts.tasks.store.indexing import EMBED, INDEX
from app.web.feature import Feature

FEATURE = Feature(
    "tasks",
    routers=(namespaces.router, artifacts.router),
    kinds=(INDEX, EMBED),
    jobs=lambda: {INDEX: jobs.index, EMBED: jobs.embed},
    sweeps=(
        swept("artifacts", jobs.remove_expired),
        swept("namespaces", jobs.remove_expired_namespaces),
        spread("chunks without grams", contents.find_without_grams, contents.backfill_grams),
    ),
    children=erasure.remove_of_engine,
    erasures=ERASURES,
    examinations=EXAMINATIONS,
    counted=COUNTED,
    holds=repository.exists_any,
    restored=complete,
    archived=Archived(
        {
            "toolPolicy": ArchivedToolPolicy,
            "namespace": ArchivedNamespace,
            "artifact": ArchivedArtifact,
            "page": ArchivedPage,
        },
        remove=erasure.remove_of_engine,
    ),
)
