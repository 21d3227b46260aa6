"""Originals that are requests to assistants with the intent that is meant: where they are published, their licences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from edgeret_bench.datasets import banking77, clinc150, ha_intents, massive, slurp
from edgeret_bench.datasets.pins import find_pin
from edgeret_bench.datasets.source import File, Source, files_of

_CLINC150 = "clinc/oos-eval@828f8093932c8fe6ca7936c3d2e52903b1c523de"
_BANKING77 = "PolyAI-LDN/task-specific-datasets@57ec275d8078af65b7731c2a98be812d844a6d6b"
_SLURP = "pswietojanski/slurp@32d6cce73781003a6449fbbbbf30b42f635d4b10"
_MASSIVE = "https://amazon-massive-nlu-dataset.s3.amazonaws.com/amazon-massive-dataset-1.0.tar.gz@1.0"
_HA = "home-assistant/intents@bcfaed03d273d382e8f92ec9191c753e0fdc5b59"

_HA_EVERYWHERE = """
climate_HassClimateGetTemperature climate_HassClimateSetTemperature cover_HassGetState cover_HassTurnOff
cover_HassTurnOn homeassistant_HassCancelTimer homeassistant_HassGetCurrentTime homeassistant_HassGetState
homeassistant_HassIncreaseTimer homeassistant_HassNevermind homeassistant_HassPauseTimer homeassistant_HassStartTimer
homeassistant_HassTimerStatus homeassistant_HassUnpauseTimer light_HassLightSet light_HassTurnOff lock_HassGetState
lock_HassTurnOn media_player_HassMediaNext media_player_HassMediaPause media_player_HassMediaPrevious
media_player_HassMediaUnpause media_player_HassSetVolume script_HassTurnOn
"""
_HA_NOT_CHINESE = """
binary_sensor_HassGetState fan_HassTurnOn homeassistant_HassCancelAllTimers homeassistant_HassRespond
homeassistant_HassTurnOff homeassistant_HassTurnOn light_HassTurnOn person_HassGetState scene_HassTurnOn
shopping_list_HassShoppingListAddItem
"""
_HA_FILES = {
    "en": f"""{_HA_EVERYWHERE} {_HA_NOT_CHINESE} assist_satellite_HassBroadcast cover_HassSetPosition fan_HassTurnOff
        homeassistant_HassGetCurrentDate media_player_HassMediaSearchAndPlay sensor_HassGetState
        vacuum_HassVacuumStart valve_HassSetPosition""",
    "de": f"""{_HA_EVERYWHERE} {_HA_NOT_CHINESE} assist_satellite_HassBroadcast homeassistant_HassDecreaseTimer
        homeassistant_HassSetPosition lock_HassTurnOff media_player_HassMediaSearchAndPlay""",
    "es": f"""{_HA_EVERYWHERE} {_HA_NOT_CHINESE} cover_HassSetPosition fan_HassTurnOff
        homeassistant_HassDecreaseTimer homeassistant_HassGetCurrentDate lock_HassTurnOff sensor_HassGetState
        todo_HassListAddItem vacuum_HassVacuumReturnToBase vacuum_HassVacuumStart valve_HassSetPosition
        weather_HassGetWeather""",
    "zh-cn": f"""{_HA_EVERYWHERE} cover_HassSetPosition valve_HassSetPosition""",
}
"""Of each language, the test sentences that lie side by side in its folder at that revision."""
_LOCALES = {"en": "en-US", "de": "de-DE", "es": "es-ES", "zh": "zh-CN"}


def _ha(language: str) -> Source:
    names = [f"{ha_intents.TESTS}/{language}/{stem}.yaml" for stem in sorted(_HA_FILES[language].split())]
    return Source(
        f"ha-intents-{language}",
        f"Home Assistant's intents, its test sentences in '{language}'",
        "plans of one call; queries of other paraphrases",
        "CC BY 4.0",
        files_of("github", _HA, "", ha_intents.INTENTS, *names),
        partial(ha_intents.read, language=language),
    )


def _massive(language: str, locale: str) -> Source:
    path = f"1.0/data/{locale}.jsonl"
    return Source(
        f"massive-{language}",
        f"MASSIVE 1.0, {locale}",
        "plans of one call; queries",
        "CC BY 4.0",
        (File("archive", _MASSIVE, path, f"{locale}.jsonl", find_pin("archive", _MASSIVE, path)),),
        partial(massive.read, locale=locale),
    )


REQUESTS: Sequence[Source] = (
    Source(
        "clinc150",
        "CLINC150, with its requests out of scope",
        "plans of one call and of none; queries, of which some fit no tool",
        "CC BY 3.0",
        files_of("github", _CLINC150, "data", "data_full.json", "domains.json"),
        clinc150.read,
    ),
    Source(
        "banking77",
        "BANKING77",
        "plans of one call; queries",
        "CC BY 4.0",
        files_of("github", _BANKING77, "banking_data", "categories.json", "train.csv", "test.csv"),
        banking77.read,
    ),
    Source(
        "slurp",
        "SLURP, its texts",
        "plans of one call; queries",
        "CC BY 4.0",
        files_of("github", _SLURP, "dataset/slurp", *(f"{split}.jsonl" for split in slurp.SPLITS)),
        slurp.read,
    ),
    *(_massive(*pair) for pair in _LOCALES.items()),
    *(_ha(language) for language in _HA_FILES),
)
