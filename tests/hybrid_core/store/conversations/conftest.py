"""The same stores as those of jobs."""

from tests.hybrid_core.store.jobs.conftest import clock, store  # noqa: F401
