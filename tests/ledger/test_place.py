"""Where the ledger of a user lies, and for whom it is."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from rivet.config.settings import StateSettings
from rivet.errors import LedgerError
from rivet.ledger import store
from rivet.ledger.place import default_path
from rivet.ledger.store import Ledger
from tests.ledger.entries import export, run

PAGE = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "linux", "/s/rivet/ledger.sqlite"),
        ({"XDG_STATE_HOME": "s", "HOME": "/h"}, "linux", "/h/.local/state/rivet/ledger.sqlite"),
        ({"XDG_STATE_HOME": "", "HOME": "/h"}, "linux", "/h/.local/state/rivet/ledger.sqlite"),
        ({"HOME": "/h"}, "freebsd14", "/h/.local/state/rivet/ledger.sqlite"),
        ({}, "linux", "/account/.local/state/rivet/ledger.sqlite"),
        ({"HOME": ""}, "linux", "/account/.local/state/rivet/ledger.sqlite"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Application Support/rivet/ledger.sqlite"),
        ({"LOCALAPPDATA": "/l", "HOME": "/h"}, "win32", "/l/rivet/ledger.sqlite"),
        ({}, "win32", "/account/AppData/Local/rivet/ledger.sqlite"),
    ],
)
def test_the_usual_place(environ: dict[str, str], platform: str, expected: str) -> None:
    """Each system's own; without HOME, as in some crontabs, the home of the account."""
    assert default_path(environ, platform, lambda: Path("/account")) == Path(expected)


def test_no_home_at_all() -> None:
    """A user that the system does not know has no place, and the error says what to write."""

    def nowhere() -> Path:
        raise RuntimeError

    with pytest.raises(LedgerError) as raised:
        default_path({}, "linux", nowhere)

    assert "`state: off`" in (raised.value.hint or "")


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """File and new directories are for the owner alone whatever the umask; what was there is not touched."""
    (tmp_path / "there").mkdir(mode=0o755)
    home = tmp_path / "there" / "state"
    ledger = Ledger(StateSettings(), {"XDG_STATE_HOME": str(home)})

    ledger.put(run(1), export(), make=True)

    modes = {
        p: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "there", *(tmp_path / "there").rglob("*"))
    }
    assert modes == {
        tmp_path / "there": 0o755,
        home: 0o700,
        home / "rivet": 0o700,
        home / "rivet" / "ledger.sqlite": 0o600,
    }


def test_the_page_states_the_limits() -> None:
    """docs/history.md says after how long, and above how many, entries are removed."""
    assert f"older than {store.MAX_AGE_DAYS} days" in PAGE
    assert f"above {store.MAX_RUNS:,} and" in PAGE
    assert f"above {store.MAX_CHANGES:,} in all" in PAGE
