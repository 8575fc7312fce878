"""Opening a store shows whether its bucket can be used, and imports its SDK only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rivet.config.settings import DestinationSettings, GcsDestinationSettings, S3DestinationSettings
from rivet.destination.opening import open_destination
from rivet.errors import DestinationDenied, DestinationError
from tests.destination.stores import names
from tests.servers.gcs import GcsBucket
from tests.servers.s3 import Key, S3Bucket

STORES: dict[str, DestinationSettings] = {
    "s3": S3DestinationSettings("b", "x/", ""),
    "gcs": GcsDestinationSettings("b", "x/", "", anonymous=True),
}


@pytest.mark.parametrize(("kind", "module"), [("s3", "boto3"), ("gcs", "gcsfs"), ("gcs", "gcsfs.core")])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, kind: str, module: str) -> None:
    """Where a store's packages are not installed the mend is the command that installs them."""
    loaded = (f"rivet.destination.{kind}.", f"{module.partition('.')[0]}.")  # by tests before this one
    for name in [name for name in sys.modules if name.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(DestinationError) as caught:
        open_destination(STORES[kind])

    assert (caught.value.exit_code, caught.value.hint) == (
        2,
        f"in the checkout: pip install '.[{kind}]'",
    )
    assert f"needs the extra rivet-export[{kind}]" in str(caught.value)


def test_no_sdk_is_imported_before_it_is_used() -> None:
    """What knows all kinds of destinations imports the SDK of none."""
    program = (
        "import sys, rivet.exporting, rivet.validation\n"
        "assert not {'boto3', 'botocore', 'gcsfs', 'fsspec', 'google.auth', 'aiohttp'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_a_bucket_of_s3_that_is_not_there(shared_s3_bucket: S3Bucket) -> None:
    """A bucket that does not exist, or a key that is unknown, is told at once."""
    settings = shared_s3_bucket.settings("x/")
    missing = S3Bucket(shared_s3_bucket.server, "no-such-bucket").settings("x/")
    unknown = shared_s3_bucket.reached_by(Key("nobody", "hunter2")).settings("x/")

    assert names(open_destination(settings)) == []
    for wrong in (missing, unknown):
        with pytest.raises(DestinationDenied) as caught:
            open_destination(wrong)
        assert wrong.bucket in str(caught.value)
        assert "hunter2" not in str(caught.value)


def test_a_bucket_of_gcs_that_is_not_there(shared_gcs_bucket: GcsBucket) -> None:
    """Likewise."""
    missing = GcsBucket(shared_gcs_bucket.server, "no-such-bucket").settings("x/")

    assert names(open_destination(shared_gcs_bucket.settings("x/"))) == []
    with pytest.raises(DestinationDenied, match="no-such-bucket"):
        open_destination(missing)
