"""Tests of the YAML 1.2 reader and writer: types of scalars, rejected input, and round trips."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from trialea.configs.yaml12 import YamlError, on_one_line, read_yaml, write_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("True", True),
        ("false", False),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-0", 0),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("2001-01-01", "2001-01-01"),
        ('"3000"', "3000"),
        ("1e6", 1e6),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("-.INF", -math.inf),
        ("1e999", math.inf),
        ("~", None),
        ("", None),
        ("<<: {a: 1}", {"<<": {"a": 1}}),
        ("{yes: =}", {"yes": "="}),
        (b"\xef\xbb\xbfa: 1", {"a": 1}),
        ("%YAML 1.1\n---\nyes", "yes"),
    ],
)
def test_scalar_has_its_yaml_1_2_type(text: str | bytes, value: Any) -> None:
    found = read_yaml(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 3000, "at most 50 levels deep"),
        ("{a: " * 3000, "at most 50 levels deep"),
        ("- " * 3000, "at most 50 levels deep"),
        ("a: &x 1", "anchors and aliases"),
        ("a: *x", "anchors and aliases"),
        ("!!python/object:os.system x", "tags are not supported"),
        ("!!binary aGk=", "tags are not supported"),
        ("{1: 2}", "keys must be text, got 1: put it in quotes, line 1"),
        ("x: 1\n? [a]\n: 3", "keys must be text, got a list or a mapping, line 2"),
        ("a: 1\nb: 2\na: 3", "the key 'a' appears twice, line 3"),
        ("9" * 5000, "at most 400 digits"),
        ("0x" + "f" * 5000, "at most 400 digits"),
        ("a: 1\n---\nb: 2", "another document"),
        (b"\x89PNG\xff\xfe\x00", "unacceptable character"),
        ("\ud800", "unacceptable character"),
        ("\tx: 1", "cannot start any token"),
        ("#" * 2**21, "at most 1,048,576 bytes"),
    ],
    ids=range(17),
)
def test_unsupported_yaml_raises_a_one_line_error(text: str | bytes, words: str) -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
DATA = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@given(DATA)
def test_written_data_is_read_back_unchanged(data: Any) -> None:
    assert repr(read_yaml(write_yaml(data))) == repr(data)
    line = on_one_line(data)
    assert len(line.splitlines()) <= 1
    assert repr(read_yaml(line)) == repr(data)


@given(st.text() | st.binary())
def test_any_input_is_read_or_raises_a_yaml_error(text: str | bytes) -> None:
    try:
        read_yaml(text)
    except YamlError as error:
        assert "\n" not in str(error)
