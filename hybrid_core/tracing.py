"""Traces for OpenTelemetry: spans of requests, tool calls, stages of searches, and jobs.

``span`` costs nothing until ``sent_traces`` is entered. Spans name routes, stages, kinds and ids. They never hold
questions, texts or names of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from hybrid_core.logs import current_request
from hybrid_core.system import require

_SPANS_PATH = "/v1/traces"  # of the OpenTelemetry protocol over HTTP
_PACKAGE = "hybrid-pageindex"
_FLUSH_MS = 2000
_tracer: Any = None
_provider: Any = None


class NoSpan:
    """A span without effect, for processes that send no traces."""

    def update_name(self, name: str) -> None:
        """Do nothing: there is no trace."""

    def set_attribute(self, name: str, value: str | int | float) -> None:
        """Do nothing: there is no trace."""


_NO_SPAN = NoSpan()


def span(name: str, *, headers: Mapping[str, str] | None = None, **values: str | int) -> AbstractContextManager[Any]:
    """Return a context that records its duration as a span inside the current span.

    If this process sends no traces, the context has no effect. ``headers`` are those of an HTTP request: if they name
    the caller's span (W3C Trace Context), the new span is inside that one. ``values`` become attributes; empty ones are
    left out. The span also gets the id of the current request.
    """
    if _tracer is None:
        return nullcontext(_NO_SPAN)
    attributes = {key: value for key, value in {"request_id": current_request(), **values}.items() if value != ""}
    outer = None if headers is None else require("opentelemetry.propagate", "traces").extract(dict(headers))
    recorded: AbstractContextManager[Any] = _tracer.start_as_current_span(
        name, context=outer, attributes=attributes, record_exception=False, set_status_on_exception=False
    )
    return recorded


def mark_failed(current: Any) -> None:
    """Set the status of a span, which ``span`` has created, to an error."""
    if _tracer is not None:
        current.set_status(require("opentelemetry.trace", "traces").StatusCode.ERROR)


@contextmanager
def sent_traces(address: str, program: str) -> Iterator[None]:
    """Send the spans of this process to ``address`` within this context, in batches. If it is "", send none.

    The address must accept the OpenTelemetry protocol (OTLP) over HTTP; without a path, ``/v1/traces`` is added.
    ``program`` is the name of this process in the traces, such as ``serve`` or ``worker``. If the address does not
    answer, spans are lost, and the exporter logs it. Raise PageIndexError if the extra ``traces`` is not installed.
    """
    global _provider, _tracer
    if not address:
        yield
        return
    sdk, resources = require("opentelemetry.sdk.trace", "traces"), require("opentelemetry.sdk.resources", "traces")
    export = require("opentelemetry.sdk.trace.export", "traces")
    exporter = require("opentelemetry.exporter.otlp.proto.http.trace_exporter", "traces").OTLPSpanExporter
    attributes = {"service.name": _PACKAGE, "service.version": version(_PACKAGE), "service.instance.name": program}
    provider = _provider = sdk.TracerProvider(resource=resources.Resource.create(attributes))
    to = address if urlsplit(address).path.strip("/") else address.rstrip("/") + _SPANS_PATH
    provider.add_span_processor(export.BatchSpanProcessor(exporter(endpoint=to)))
    _tracer = provider.get_tracer(_PACKAGE)
    try:
        yield
    finally:
        _tracer = _provider = None
        provider.shutdown()


def flush_traces() -> None:
    """Send the waiting spans, for at most two seconds. Call it before a signal ends the process."""
    if _provider is not None:
        _provider.force_flush(_FLUSH_MS)
