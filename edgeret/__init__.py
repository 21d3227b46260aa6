"""edgeret decides on the device which function an assistant calls next.

    import edgeret

    runtime = edgeret.load("bundle")
    task = runtime.task("Mail the minutes to Ana")
    decision = task.next()

Importing this package loads numpy and nothing heavier; ONNX Runtime and the tokenizer come with the first bundle.
"""

from edgeret.errors import (
    BundleError,
    CheckFailedError,
    EdgeretError,
    InputError,
    MissingExtraError,
    ProviderError,
)
from edgeret.runtime import Runtime, Task, load
from edgeret.types import END, Candidate, Decision, Hit, Plan, Tool

__version__ = "0.1.0"

__all__ = [
    "END",
    "BundleError",
    "Candidate",
    "CheckFailedError",
    "Decision",
    "EdgeretError",
    "Hit",
    "InputError",
    "MissingExtraError",
    "Plan",
    "ProviderError",
    "Runtime",
    "Task",
    "Tool",
    "__version__",
    "load",
]
