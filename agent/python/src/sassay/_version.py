"""The version; the agent has the same."""
__version__ = "0.1.0"
