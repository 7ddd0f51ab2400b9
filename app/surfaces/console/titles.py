"""Display names of engines for the frame of pages, each kept for a minute."""

from datetime import datetime, timedelta

from app.kernel.permissions import Permission
from app.surfaces.console.visits import TITLE, Visit

_KEPT = timedelta(minutes=1)
_MOST = 1_000


class EngineTitles(dict[tuple[str, str], tuple[datetime, str]]):
    """The names that sessions were told, since keys differ in the engines that they reach."""

    async def put_on(self, visit: Visit) -> None:
        """Note the name of a page's engine for its frame; empty: it has none, or is unknown."""
        key = visit.session.form_token, str(visit.request.path_params.get("engine", ""))
        end, title = self.get(key, (visit.now, ""))
        if visit.request.method == "POST":
            # It may change the name.
            self.pop(key, None)
        elif key[1] and visit.now >= end and visit.may(Permission.ENGINES_GET):
            title = (await visit.answered(visit.engine_path) or {}).get("displayName", "")
            visit.api.made.clear()
            if len(self) >= _MOST:
                self.clear()
            self[key] = visit.now + _KEPT, title
        visit.request.scope[TITLE] = title
