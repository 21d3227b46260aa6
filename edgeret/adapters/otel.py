"""Decisions as OpenTelemetry's spans and metrics, by its conventions for generative AI. Only the API is used; where and
whether anything is sent is up to the SDK that the program sets up. Holds no words of users."""

from __future__ import annotations

from time import time_ns
from typing import Any

from edgeret import END, Call, Decision, InputError, MissingExtraError, Runtime
from edgeret.usage.observer import Observer, Seen, corrects

OPERATION, PROVIDER = "select_tool", "edgeret"
"""Of `gen_ai.operation.name`, for which the conventions have no name that fits, and of `gen_ai.provider.name`."""
_SHOWN = 12  # hexadecimal digits of a bundle's hash, as in logs
_UNSET = ("ProxyTracerProvider", "NoOpTracerProvider", "_ProxyMeterProvider", "NoOpMeterProvider")


def watch(runtime: Runtime, tracer_provider: Any = None, meter_provider: Any = None) -> bool:
    """Has a runtime's decisions told to OpenTelemetry, to these providers or to those that the program has set; whether
    there is one. Where there is none nothing is done, so that nobody pays for it: set up the SDK first. Raises
    MissingExtraError without the API."""
    if not isinstance(runtime, Runtime):
        raise InputError(f"watch takes an edgeret.Runtime, found {type(runtime).__name__}")
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        raise MissingExtraError("otel", "edgeret.adapters.otel") from None
    tracers = trace.get_tracer_provider() if tracer_provider is None else tracer_provider
    meters = metrics.get_meter_provider() if meter_provider is None else meter_provider
    if type(tracers).__name__ in _UNSET and type(meters).__name__ in _UNSET:
        return False
    runtime.observe(Telemetry(tracers, meters))
    return True


class Telemetry(Observer):
    """Use `watch`."""

    def __init__(self, tracers: Any, meters: Any) -> None:
        """The providers of both."""
        self._tracer, meter = tracers.get_tracer("edgeret"), meters.get_meter("edgeret")
        self._took = meter.create_histogram("gen_ai.client.operation.duration", "s", "The decision itself.")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "What a planner read.")
        self._decisions = meter.create_counter("edgeret.decisions", "{decision}", "By outcome and stage.")
        self._calls = meter.create_counter("edgeret.calls", "{call}", "By whether they are what was decided.")

    def decided(self, seen: Seen, decision: Decision) -> None:
        """A span that ends now, and one more in the metrics."""
        end, ms = time_ns(), decision.timings_ms.get("total", 0.0)
        shared = {
            "gen_ai.operation.name": OPERATION,
            "gen_ai.provider.name": PROVIDER,
            "gen_ai.request.model": seen.content_hash[:_SHOWN],
        }
        outcome = "declined" if decision.abstained else "end" if decision.tool == END else "call"
        span = self._tracer.start_span(
            f"{OPERATION} {decision.tool}" if decision.is_call else OPERATION,
            attributes=shared,
            start_time=end - int(ms * 1e6),
        )
        if span.is_recording():
            told = {
                "edgeret.outcome": outcome,
                "edgeret.probability": float(decision.probability),
                "edgeret.source": decision.source,
                "edgeret.stage": decision.stage,
                "edgeret.step": len(seen.calls),
                "edgeret.tools": len(seen.tools),
            }
            span.set_attributes(told | ({"gen_ai.tool.name": decision.tool} if decision.is_call else {}))
        span.end(end)
        self._took.record(ms / 1e3, shared)
        self._decisions.add(1, {"edgeret.outcome": outcome, "edgeret.stage": decision.stage})
        if decision.usage is not None:
            self._tokens.record(decision.usage.tokens_evaluated, shared | {"gen_ai.token.type": "input"})

    def called(self, seen: Seen, call: Call, decision: Decision | None) -> None:
        """One more call: of what was decided, of another tool, or of one for which nobody asked."""
        answer = "own" if decision is None else "corrected" if corrects(call, decision) else "accepted"
        self._calls.add(1, {"edgeret.answer": "planned" if seen.assumed else answer})
