"""Judge RAG answers in Python, as ``rag-monitor`` judges live traffic.

What stands in ``__all__`` is public; everything else may change. The package ``monitor`` holds it,
and this is its name that no file of yours has: a ``monitor.py`` beside a notebook, or in the folder
where a command is run, hides our package of that name. ``rag_monitor`` finds it where it is
installed. ``rag_monitor.metrics`` is the very module ``monitor.metrics``: nothing is loaded twice,
and a class is one class.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from monitor.api.classes import (
        Answered,
        AnswerRelevance,
        ClaimF1,
        ClaimPrecision,
        ClaimRecall,
        ContextPrecision,
        ContextRecall,
        ContextUtilization,
        Faithfulness,
        FaithfulnessByPassage,
        Hallucination,
        IncorrectClaims,
        IrrelevantContextReliance,
        NoiseSensitivityIrrelevant,
        NoiseSensitivityRelevant,
        Retrieved,
        SelfKnowledge,
    )
    from monitor.api.evaluation import aevaluate, evaluate
    from monitor.api.metric import NoiseSensitivity
    from monitor.api.models import llm_factory
    from monitor.api.problems import InputRejected, NothingToScore
    from monitor.api.results import MetricResult
    from monitor.api.samples import EvaluationDataset, SingleTurnSample
    from monitor.api.tables import EvaluationResult, MeanScore
    from monitor.errors import ConfigurationError, DependencyRefused, JudgeFailed, MonitorError
    from monitor.records import Passage

    __version__: str

__all__ = [
    "AnswerRelevance",
    "Answered",
    "ClaimF1",
    "ClaimPrecision",
    "ClaimRecall",
    "ConfigurationError",
    "ContextPrecision",
    "ContextRecall",
    "ContextUtilization",
    "DependencyRefused",
    "EvaluationDataset",
    "EvaluationResult",
    "Faithfulness",
    "FaithfulnessByPassage",
    "Hallucination",
    "IncorrectClaims",
    "InputRejected",
    "IrrelevantContextReliance",
    "JudgeFailed",
    "MeanScore",
    "MetricResult",
    "MonitorError",
    "NoiseSensitivity",
    "NoiseSensitivityIrrelevant",
    "NoiseSensitivityRelevant",
    "NothingToScore",
    "Passage",
    "Retrieved",
    "SelfKnowledge",
    "SingleTurnSample",
    "__version__",
    "aevaluate",
    "evaluate",
    "llm_factory",
]

#: Where public names stand, loaded when they are asked for; all others are classes of metrics.
_PLACES: Final = {
    "ConfigurationError": "errors",
    "DependencyRefused": "errors",
    "EvaluationDataset": "api.samples",
    "EvaluationResult": "api.tables",
    "InputRejected": "api.problems",
    "JudgeFailed": "errors",
    "MeanScore": "api.tables",
    "MetricResult": "api.results",
    "MonitorError": "errors",
    "NoiseSensitivity": "api.metric",
    "NothingToScore": "api.problems",
    "Passage": "records",
    "SingleTurnSample": "api.samples",
    "aevaluate": "api.evaluation",
    "evaluate": "api.evaluation",
    "llm_factory": "api.models",
}
_METRIC_CLASSES: Final = "api.classes"

#: Installed beside us, in a wheel and in a checkout.
_HOME = Path(__file__).resolve().parents[1] / "monitor" / "__init__.py"
_PREFIX = f"{__name__}."


def _package() -> ModuleType:
    """Our ``monitor``; raises ``ImportError`` where another module has taken its name."""
    there = sys.modules.get("monitor")
    if there is not None:
        found = getattr(there, "__file__", None)
        if found is not None and Path(found).resolve() == _HOME:
            return there
        raise ImportError(
            f"rag_monitor: {found or 'another module'} was imported as monitor and hides that of "
            "rag-monitor; import rag_monitor before it, or rename that file"
        )
    spec = spec_from_file_location("monitor", _HOME, submodule_search_locations=[str(_HOME.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"rag_monitor: {_HOME} cannot be loaded; install rag-monitor again")
    module = module_from_spec(spec)
    sys.modules["monitor"] = module
    spec.loader.exec_module(module)
    return module


class _SecondName(MetaPathFinder, Loader):
    """Finds ``rag_monitor.x`` as ``monitor.x``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(_PREFIX)
        # A room that is called like a function would take its place here.
        if name == fullname or name == "__main__" or name in __all__:
            return None
        return spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"monitor.{spec.name.removeprefix(_PREFIX)}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The machinery has put the spec of the second name there; the module keeps its own.
        second = module.__spec__
        if second is not None and second.loader_state is not None:
            module.__spec__ = second.loader_state


_monitor = _package()
sys.meta_path.insert(0, _SecondName())


def __getattr__(name: str) -> Any:
    """A public name, or what ``monitor`` has."""
    if name not in __all__ or name == "__version__":
        return getattr(_monitor, name)
    module = import_module(f"monitor.{_PLACES.get(name, _METRIC_CLASSES)}")
    found = globals()[name] = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return __all__
