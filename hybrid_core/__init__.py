"""Shared types, text processing, the store and the model clients. Imports no other package of this project."""

import os as _os

_TELEMETRY_SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, which PyMuPDF loads: a device id on the disk, then a host of its maker
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and what is built on it
    "DO_NOT_TRACK": "1",  # the same wish, as several tools read it
    "FASTMCP_CHECK_FOR_UPDATES": "off",
}

# Libraries read their switches when they are imported, so every package of ours imports this one first.
# A switch that the user has set stays as it is.
for _name, _off in _TELEMETRY_SWITCHES.items():
    _os.environ.setdefault(_name, _off)
