"""The window types, one file per kind, and the two interfaces for a user's own."""

from muntin.windows.base import NEVER, ContextAwareWindow, ContextFreeWindow, Identity, Window, WindowClass
from muntin.windows.context import Context, Events
from muntin.windows.cumulative import Cumulative, cumulative
from muntin.windows.marks import Frame, Punctuated, frame, punctuated
from muntin.windows.session import Session, session
from muntin.windows.sliding import MixedSliding, Sliding, Tumbling, sliding, tumbling

__all__ = [
    "NEVER",
    "Context",
    "ContextAwareWindow",
    "ContextFreeWindow",
    "Cumulative",
    "Events",
    "Frame",
    "Identity",
    "MixedSliding",
    "Punctuated",
    "Session",
    "Sliding",
    "Tumbling",
    "Window",
    "WindowClass",
    "cumulative",
    "frame",
    "punctuated",
    "session",
    "sliding",
    "tumbling",
]
