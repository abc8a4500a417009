import pytest

from lcbo.text import brief, described, duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0123, "12 ms"),
        (0.26, "260 ms"),
        (0.9996, "1.0 s"),
        (2e-5, "20 µs"),
        (0.00034, "0.34 ms"),
        (59.94, "59.9 s"),
        (61, "1 min 1 s"),
        (3 * 3600 + 65, "3 h 1 min"),
        (1e6, "11 days 13 h"),
    ],
)
def test_durations_are_in_words(seconds, words):
    assert duration(seconds) == words


def test_long_texts_are_cut_to_their_length():
    assert brief("short", 5) == "short"
    assert brief("a longer text", 8) == "a lon..."


def test_a_value_is_described_by_its_type_and_a_short_form():
    assert described(3.5) == "float 3.5"
    assert described("x" * 100) == "str '" + "x" * 56 + "..."
