"""Property tests run 100 examples each, or a share of that; `make test-nightly` runs 1,000."""

from hypothesis import settings

settings.register_profile("nightly", max_examples=1000, deadline=None)
