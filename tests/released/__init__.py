"""Homes of released versions, which every later version opens. This folder keeps one for each release."""
