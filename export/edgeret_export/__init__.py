"""The build host of edgeret: models, tools and demonstrations in, one bundle out."""

from edgeret import telemetry

telemetry.disable("HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK")
