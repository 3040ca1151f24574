"""Techniques to compare with, behind the interface of the engines: the papers measure against them."""
