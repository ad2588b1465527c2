"""docs/manifests.md has every field as the models have it."""

from pathlib import Path

from weir_operator.api.reference import MARK, with_reference

DOCUMENT = Path(__file__).parents[2] / "docs" / "manifests.md"


def test_the_document_is_what_the_models_give():
    text = DOCUMENT.read_text()
    assert with_reference(text) == text, "run `weir crds --reference docs/manifests.md`"


def test_fields_defaults_and_rules_are_in_it():
    text = with_reference(f"before\n{MARK}\nwhat was there")
    assert text.startswith("before\n")
    assert "what was there" not in text
    assert "| `maxLatency` | duration |  | Limit for the slowest path" in text
    assert "| `drift.hold` | duration | `30s` |" in text
    assert "| `eventTime.watermark` | duration | `0s` |" in text
    assert "| `schema` | string | required |" in text
    assert "- `spec`: exactly one of sql, operators must be given." in text
