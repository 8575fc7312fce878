"""The search for secrets that every test's output passes through finds them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.faults.planted import assert_no_secret, forms
from tests.servers.database import ODD_PASSWORD


@pytest.mark.parametrize("form", sorted(forms(ODD_PASSWORD)))
def test_each_form_is_found(form: str) -> None:
    """As it is, in a URL, in JSON, quoted by Python or in base 64, amidst other text or bytes."""
    for text in (f"at {form}, and", f"at {form}, and".encode()):
        with pytest.raises(AssertionError, match="a secret is told"):
            assert_no_secret("nothing", text)


def test_what_a_test_takes_of_an_output_is_searched(capsys: pytest.CaptureFixture[str]) -> None:
    """Both of this process and of another."""
    print(ODD_PASSWORD)  # noqa: T201 - on purpose
    with pytest.raises(AssertionError, match="a secret is told"):
        capsys.readouterr()

    program = "import sys; sys.stderr.write(sys.stdin.read())"
    with pytest.raises(AssertionError, match="a secret is told"):
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, input=ODD_PASSWORD.encode()
        )
