"""edgeret decides on the device which function an assistant calls next.

    import edgeret

    runtime = edgeret.load("bundle")
    task = runtime.task("Mail the minutes to Ana")
    decision = task.next()

Importing this package loads numpy and nothing heavier; ONNX Runtime and the tokenizer come with the first bundle.
It also forbids ONNX Runtime's telemetry, which can only be done before that is imported.
"""

from typing import TYPE_CHECKING, Any

from edgeret import native, telemetry  # noqa: F401 - native has to be the first that is imported
from edgeret.encoders.base import EncoderInfo
from edgeret.errors import (
    BundleError,
    CheckFailedError,
    EdgeretError,
    InputError,
    LanguageWarning,
    MissingExtraError,
    NoMemoryError,
    OverlayError,
    PlannerError,
    ProviderError,
)
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.examples_file import read_examples, with_examples_of
from edgeret.inputs.hygiene import without_hidden
from edgeret.inputs.tools import read_tool, read_tools
from edgeret.planner.chat import Prompt
from edgeret.runtime.bases import base_path
from edgeret.runtime.conversation import Conversation
from edgeret.runtime.learn_report import LearnReport
from edgeret.runtime.loading import from_tools, load
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.types import (
    END,
    Alternative,
    Argument,
    Arguments,
    Call,
    Candidate,
    Decision,
    Demonstrated,
    Explanation,
    Failure,
    Hit,
    Need,
    Plan,
    PlanStep,
    Remedy,
    Tool,
    Turn,
    Vote,
)

if TYPE_CHECKING:
    from edgeret.planner.endpoint import Endpoint
    from edgeret.store.store import BundleStore
    from edgeret.strategies.routing import Route, read_route

telemetry.disable()

__version__ = "0.1.0"

__all__ = [
    "END",
    "Alternative",
    "Argument",
    "Arguments",
    "BundleError",
    "BundleStore",
    "Call",
    "Candidate",
    "CheckFailedError",
    "Conversation",
    "Decision",
    "Demonstrated",
    "Demonstration",
    "EdgeretError",
    "EncoderInfo",
    "Endpoint",
    "Explanation",
    "Failure",
    "Hit",
    "InputError",
    "LanguageWarning",
    "LearnReport",
    "MissingExtraError",
    "Need",
    "NoMemoryError",
    "OverlayError",
    "Plan",
    "PlanStep",
    "PlannerError",
    "Prompt",
    "ProviderError",
    "Remedy",
    "Route",
    "Runtime",
    "Task",
    "Tool",
    "Turn",
    "Vote",
    "__version__",
    "base_path",
    "from_tools",
    "load",
    "read_demonstrations",
    "read_examples",
    "read_route",
    "read_tool",
    "read_tools",
    "with_examples_of",
    "without_hidden",
]


def __getattr__(name: str) -> Any:
    """What few programs use is loaded when it is first named, so that nobody else waits for it."""
    if name == "Endpoint":
        from edgeret.planner.endpoint import Endpoint

        return Endpoint
    if name == "BundleStore":
        from edgeret.store.store import BundleStore

        return BundleStore
    if name in ("Route", "read_route"):
        from edgeret.strategies import routing

        return getattr(routing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
