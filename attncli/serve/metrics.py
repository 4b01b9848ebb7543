"""Figures about the service for Prometheus, at /metrics. They contain no text of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from attncli.serve.engine import BatchFigures, ModelThread

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counters of one service."""

    def __init__(self, engines: Callable[[], Mapping[str, ModelThread]]) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(_Engines(engines))
        labels = ("endpoint", "status")
        self.requests = Counter("attn_requests", "Requests", labels, registry=registry)
        self.seconds = Histogram(
            "attn_request_seconds", "Time of requests", ["endpoint"], buckets=SECONDS,
            registry=registry,
        )  # fmt: skip
        self.batch_inputs = Histogram(
            "attn_batch_inputs", "Inputs per batch", ["model"], buckets=SIZES, registry=registry
        )
        self.busy = Counter("attn_model_seconds", "Computing time", ["model"], registry=registry)

    def of_batch(self, model: str) -> Callable[[BatchFigures], None]:
        """Return the function that counts the batches of a model."""

        def count(batch: BatchFigures) -> None:
            self.batch_inputs.labels(model).observe(batch.inputs)
            self.busy.labels(model).inc(batch.seconds)

        return count

    def text(self) -> bytes:
        """Return all figures in Prometheus's format."""
        return generate_latest(self.registry)


class _Engines(Collector):
    """Gauges that are read when they are needed."""

    def __init__(self, engines: Callable[[], Mapping[str, ModelThread]]) -> None:
        self._engines = engines

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges of all models."""
        waiting = GaugeMetricFamily("attn_waiting", "Work that waits", labels=["model"])
        opened = GaugeMetricFamily("attn_model_open", "1 if it is in memory", labels=["model"])
        for name, engine in self._engines().items():
            waiting.add_metric([name], engine.waiting)
            opened.add_metric([name], engine.is_open)
        yield from (waiting, opened)
