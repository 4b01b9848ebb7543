"""Figures about the service for Prometheus, at /metrics. They contain no text of a request."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from attncli.serve.engine import ModelThread

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
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
        self.waiting = Gauge("attn_waiting", "Work that waits", ["model"], registry=registry)
        self.opened = Gauge("attn_model_open", "1 if it is in memory", ["model"], registry=registry)

    def watch(self, model: str, engine: ModelThread) -> None:
        """Show the state of the engine of a model."""
        self.waiting.labels(model).set_function(lambda: engine.waiting)
        self.opened.labels(model).set_function(lambda: engine.is_open)

    def count_batch(self, model: str, inputs: int, seconds: float) -> None:
        """Count a computed batch of a model."""
        self.batch_inputs.labels(model).observe(inputs)
        self.busy.labels(model).inc(seconds)

    def text(self) -> bytes:
        """Return all figures in Prometheus's format."""
        return generate_latest(self.registry)
