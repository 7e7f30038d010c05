"""Shared types, text processing, the store and the model clients. Imports no other package of this project."""

import os as _os

_TELEMETRY_SWITCHES = {
    # onnxruntime, which PyMuPDF loads, stores a device id on the disk and contacts its vendor
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and packages that use it
    "DO_NOT_TRACK": "1",  # a general switch that several tools respect
    "FASTMCP_CHECK_FOR_UPDATES": "off",
}

# Libraries read these switches on import, so every package of this project imports this one first. A switch that the
# user has set stays unchanged.
for _name, _off in _TELEMETRY_SWITCHES.items():
    _os.environ.setdefault(_name, _off)
