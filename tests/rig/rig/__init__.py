"""The fault rig: see tests/rig/README.md."""
