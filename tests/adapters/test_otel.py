"""Decisions as OpenTelemetry's SDK gets them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import edgeret
from edgeret.adapters import otel

pytest.importorskip("opentelemetry.sdk", reason="needs OpenTelemetry's SDK")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


def test_a_decision_is_a_span_and_counts_in_metrics_without_words(tiny_original: Path) -> None:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    runtime = edgeret.load(tiny_original, threads=1)
    assert otel.watch(runtime, tracers, meters)
    with tracers.get_tracer("app").start_as_current_span("request") as parent:
        task = runtime.task("find my file and send a mail")
        decision = task.next(policy="heads")
    task.accept(decision)
    task.next(min_probability=1.0)
    task.call("play_music")
    first, _, declined = spans.get_finished_spans()
    assert first.name == f"select_tool {decision.tool}"
    assert first.parent is not None and first.parent.span_id == parent.get_span_context().span_id
    assert first.attributes is not None
    assert first.attributes["gen_ai.tool.name"] == decision.tool
    assert first.attributes["gen_ai.provider.name"] == "edgeret"
    assert first.end_time - first.start_time == int(decision.timings_ms["total"] * 1e6)
    assert declined.name == "select_tool"
    assert declined.attributes["edgeret.outcome"] == "declined"
    assert "find my" not in "".join(span.to_json() for span in (first, declined))
    data = reader.get_metrics_data()
    points = {
        metric.name: [(dict(point.attributes), point) for point in metric.data.data_points]
        for scope in data.resource_metrics[0].scope_metrics
        for metric in scope.metrics
    }
    assert points["gen_ai.client.operation.duration"][0][1].count == 2
    counted = {tuple(told.values()): point.value for told, point in points["edgeret.decisions"]}
    assert counted == {("call", "full"): 1, ("declined", "full"): 1}
    assert {told["edgeret.answer"]: point.value for told, point in points["edgeret.calls"]} == {
        **{"accepted": 1, "corrected": 1}
    }


def test_where_nothing_is_set_up_nothing_is_watched(tiny_original: Path) -> None:
    code = (
        "import sys, edgeret; from edgeret.adapters import otel\n"
        "runtime = edgeret.load(sys.argv[1])\n"
        "print(otel.watch(runtime), runtime.learned.observers)\n"
        "sys.modules['opentelemetry'] = None\n"
        "try: otel.watch(runtime)\n"
        "except edgeret.MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tiny_original)], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "False None"
    assert second.endswith("Install it with: pip install 'edgeret[otel]'")
