"""Unit tests of metrics: does a score notice what was corrupted, and overlook what was not?"""
