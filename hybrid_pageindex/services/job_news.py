"""What happens to jobs, for those who follow it: resumable from any event's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.types.jobs import ACTIVE, JobEvent
from hybrid_pageindex.services.jobs import Jobs, JobView

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class JobNews:
    """``state``: the jobs as they are at event ``number``, None where ``events`` alone say what is new since."""

    number: int
    events: tuple[JobEvent, ...]
    state: tuple[JobView, ...] | None = None


def job_news(catalog: Catalog, after: int | None, job: int | None, libraries: Sequence[str] | None) -> JobNews:
    """Raises NotFoundError for an unknown job where its state is told."""
    reader = JobReader(catalog)
    last = reader.last_event()  # before the state is read: what happens meanwhile is told twice rather than never
    if after is not None and not _missing(reader, after, last):
        found = reader.events(after, job=job, library=libraries, most=_AT_ONCE)
        number = found[-1].number if len(found) == _AT_ONCE else max(last, after)
        return JobNews(max([number, *(event.number for event in found)]), tuple(found))
    if job is not None:
        return JobNews(last, (), (Jobs(catalog).history(job).view,))
    views = Jobs(catalog).listed(None, ACTIVE, _AT_ONCE).jobs
    shown = tuple(view for view in views if libraries is None or view.job.library in libraries)
    return JobNews(last, (), shown)


def _missing(reader: JobReader, after: int, last: int) -> bool:
    """Whether events after a number are kept no more, or it is of a catalog that was cleared."""
    return after > last or (after < last and reader.oldest_event() > after + 1)
