"""Open Memory Bank: a self-hosted memory service for AI agents."""

import sys

# structlog imports rich, if it finds it, to draw tracebacks. No line of ours has one, and each
# process would need 4 MiB for it.
if "rich" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]  # as documented: it is not found then
    import structlog  # noqa: F401 - so that it is imported without rich

    del sys.modules["rich"]
