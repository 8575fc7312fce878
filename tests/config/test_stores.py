"""Destinations in buckets: where their roots lie, whose rights they use, and what is refused of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet.config.settings import (
    DestinationSettings,
    GcsDestinationSettings,
    LocalDestinationSettings,
    S3DestinationSettings,
    Secret,
)
from tests.config.conftest import SOURCE, Load, Refuse

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ENVIRON = {
    "STORE_KEY": ACCESS_KEY,
    "STORE_SECRET": SECRET_KEY,
    "STORE_TOKEN": "IQoJb3JpZ2lu==",
    "BLANK": "x y",
    "LINE": "x\n",
    "EMPTY": "",
}
DESTINATION = "$.exports[0].destination"


def _one(destination: str, by: str = "") -> str:
    return f"{SOURCE}exports: [{{name: a, table: t, {by}destination: {{{destination}}}}}]\n"


def _by_day(destination: str) -> str:
    return _one(destination, "partition_by: d, ")


def _two(first: str, second: str) -> str:
    exports = "".join(
        f"  - {{name: {name}, table: t, destination: {{{keys}}}}}\n"
        for name, keys in zip("ab", (first, second), strict=True)
    )
    return f"{SOURCE}exports:\n{exports}"


def _settings(load: Load, text: str) -> DestinationSettings:
    return load(text, ENVIRON).exports[0].destination


class TestRoots:
    """Where a tree lies in a bucket."""

    @pytest.mark.parametrize("kind", ["s3", "gcs"])
    @pytest.mark.parametrize(
        ("prefix", "root", "template"),
        [
            ("lake/events/{partition}/", "lake/events/", "{partition}"),
            ("lake/events/{partition}", "lake/events/", "{partition}"),
            ("/lake//events///{partition}//", "lake/events/", "{partition}"),
            ("lake/{partition}/v1/", "lake/", "{partition}/v1"),
            ("la ke/ü%2F+=:?#/{partition}", "la ke/ü%2F+=:?#/", "{partition}"),
            ("_hidden/.lake/{partition}", "_hidden/.lake/", "{partition}"),
            ("~/{partition}", "~/", "{partition}"),
        ],
    )
    def test_one_slash_where_it_belongs(
        self, load: Load, kind: str, prefix: str, root: str, template: str
    ) -> None:
        """A prefix has one slash between segments and at its end, none before it; all else is untouched."""
        settings = _settings(load, _by_day(f"type: {kind}, bucket: b, prefix: '{prefix}'"))

        assert not isinstance(settings, LocalDestinationSettings)
        assert (settings.prefix, settings.template) == (root, template)
        assert settings.label == f"{'s3' if kind == 's3' else 'gs'}://b/{root}"

    @pytest.mark.parametrize("prefix", ["all", "all/", "/all"])
    def test_without_partitions(self, load: Load, prefix: str) -> None:
        """An export that is one partition lies at the prefix itself."""
        settings = _settings(load, _one(f"type: s3, bucket: b, prefix: {prefix}"))

        assert settings == S3DestinationSettings("b", "all/", "")

    @pytest.mark.parametrize(
        ("first", "second", "path"),
        [
            ("prefix: x", "prefix: x/", "$.exports[1]"),
            ("prefix: x", "prefix: /x//y", "$.exports[1]"),
            ("prefix: x/y", "prefix: x", "$.exports[0]"),
            (
                "prefix: x, endpoint_url: 'http://h:1'",
                "prefix: x, endpoint_url: 'http://H:1/'",
                "$.exports[1]",
            ),
        ],
    )
    def test_overlaps_are_refused(self, refuse: Refuse, first: str, second: str, path: str) -> None:
        """Two roots in one bucket of one store are neither the same nor one inside the other."""
        (problem,) = refuse(_two(f"type: s3, bucket: b, {first}", f"type: s3, bucket: b, {second}"))

        assert problem.path == f"{path}.destination.prefix"
        assert "or lies inside it" in problem.message
        assert "a root of its own" in (problem.hint or "")

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("type: s3, bucket: b, prefix: x", "type: s3, bucket: b, prefix: xy"),
            ("type: s3, bucket: b, prefix: x", "type: s3, bucket: c, prefix: x"),
            ("type: s3, bucket: b, prefix: x", "type: gcs, bucket: b, prefix: x"),
            ("type: s3, bucket: b, prefix: x", "type: local, path: x"),
            ("type: s3, bucket: b, prefix: x", "type: s3, bucket: b, prefix: x, endpoint_url: 'http://h'"),
        ],
    )
    def test_neighbours_are_not(self, load: Load, first: str, second: str) -> None:
        """What lies beside each other, in other buckets or other stores, does not overlap."""
        assert len(load(_two(first, second)).exports) == 2


class TestKeys:
    """What each key becomes."""

    def test_every_key_of_s3(self, load: Load, tmp_path: Path) -> None:
        """Each arrives; files are meant from the config's folder, secrets come from the environment."""
        (tmp_path / "ca.pem").touch()
        text = _by_day(
            "type: s3, bucket: b, prefix: 'x/{partition}', region: auto, endpoint_url: 'https://h:9000/base',"
            " addressing_style: virtual, access_key_env: STORE_KEY, secret_key_env: STORE_SECRET,"
            " session_token_env: STORE_TOKEN, ca_file: ca.pem, storage_class: GLACIER_IR,"
            " server_side_encryption: 'aws:kms:dsse', kms_key_id: k, acl: bucket-owner-full-control,"
            " manifest_name: _manifest.json"
        )

        settings = _settings(load, text)

        assert settings == S3DestinationSettings(
            bucket="b",
            prefix="x/",
            template="{partition}",
            manifest_name="_manifest.json",
            region="auto",
            endpoint_url="https://h:9000/base",
            addressing_style="virtual",
            access_key=Secret(ACCESS_KEY),
            secret_key=Secret(SECRET_KEY),
            session_token=Secret("IQoJb3JpZ2lu=="),
            ca_file=tmp_path / "ca.pem",
            storage_class="GLACIER_IR",
            server_side_encryption="aws:kms:dsse",
            kms_key_id="k",
            acl="bucket-owner-full-control",
        )
        assert SECRET_KEY not in repr(settings)
        assert ACCESS_KEY not in repr(settings)

    def test_every_key_of_gcs(self, load: Load, tmp_path: Path) -> None:
        """Likewise."""
        (tmp_path / "key.json").touch()

        settings = _settings(
            load,
            _one(
                "type: gcs, bucket: b, prefix: x, project: p, credentials_file: key.json,"
                " endpoint_url: 'http://127.0.0.1:4443', anonymous: false"
            ),
        )

        assert settings == GcsDestinationSettings(
            "b",
            "x/",
            "",
            project="p",
            credentials_file=tmp_path / "key.json",
            endpoint_url="http://127.0.0.1:4443",
        )

    def test_defaults_hold_what_exports_share(self, load: Load) -> None:
        """A bucket is named once for all exports, and one that goes elsewhere takes nothing of it."""
        exports = load(f"""
            {SOURCE.strip()}
            defaults: {{destination: {{type: s3, bucket: lake, region: eu-west-1}}}}
            exports:
              - {{name: a, table: t, destination: {{prefix: a}}}}
              - {{name: b, table: t, destination: {{type: local, path: b}}}}
        """).exports

        assert exports[0].destination == S3DestinationSettings("lake", "a/", "", region="eu-west-1")
        assert isinstance(exports[1].destination, LocalDestinationSettings)


S3 = "type: s3, bucket: b, prefix: x"
GCS = "type: gcs, bucket: b, prefix: x"
CASES = {
    # Where it lies
    "no bucket": (_one("type: s3, prefix: x"), "bucket", "is missing", "bare name"),
    "no prefix": (_one("type: gcs, bucket: b"), "prefix", "is missing", "lake/events/{partition}/"),
    "a URL as bucket": (_one("type: s3, bucket: 's3://b', prefix: x"), "bucket", "no name", "bare name"),
    "a path as bucket": (_one("type: s3, bucket: b/x, prefix: x"), "bucket", "'b/x': it is no", "`prefix`"),
    "a URL as prefix": (_one("type: s3, bucket: b, prefix: 's3://b/x'"), "prefix", "a URL is", "`bucket`"),
    "the bare bucket": (
        _by_day("type: s3, bucket: b, prefix: '{partition}'"),
        "prefix",
        "bare bucket",
        "lake/",
    ),
    "only a slash": (_one("type: gcs, bucket: b, prefix: /"), "prefix", "the bare bucket", "lake/"),
    "dots": (_one("type: s3, bucket: b, prefix: x/../y"), "prefix", "a segment . or ..", "without"),
    "a dot": (_one("type: s3, bucket: b, prefix: ./x"), "prefix", "a segment . or ..", "without"),
    "control": (_one('type: s3, bucket: b, prefix: "x\\n"'), "prefix", "control characters", "without"),
    "too long": (_one(f"type: s3, bucket: b, prefix: {'é' * 251}"), "prefix", "longer than 500", "shorter"),
    "half a segment": (
        _by_day("type: s3, bucket: b, prefix: 'x/d-{partition}'"),
        "prefix",
        "as a whole segment",
        "prefix: 'lake",
    ),
    "no partition_by": (
        _one("type: s3, bucket: b, prefix: 'x/{partition}'"),
        "prefix",
        "no partition_by",
        "add partition_by",
    ),
    "other braces": (_one("type: s3, bucket: b, prefix: 'x/{t}'"), "prefix", "only {partition}", "${env:"),
    "hidden below": (
        _by_day("type: s3, bucket: b, prefix: 'x/{partition}/_v'"),
        "prefix",
        "readers skip",
        "another name",
    ),
    # Keys of other types
    "path with s3": (_one(f"{S3}, path: out"), "path", "no meaning for type s3", "`bucket` and `prefix`"),
    "bucket with local": (_one("type: local, path: x, bucket: b"), "bucket", "for type local", "`type: s3`"),
    "region with gcs": (_one(f"{GCS}, region: eu"), "region", "no meaning for type gcs", "`type: s3`"),
    "project with s3": (_one(f"{S3}, project: p"), "project", "no meaning for type s3", "`type: gcs`"),
    "anonymous with s3": (_one(f"{S3}, anonymous: false"), "anonymous", "type s3", "`type: gcs`"),
    "near miss": (_one(f"{S3}, endpiont_url: x"), "endpiont_url", "unknown key", "endpoint_url?"),
    "other name of a type": (_one("type: gs, bucket: b, prefix: x"), "type", "found 'gs'", "gcs?"),
    "older endpoint": (_one(f"{S3}, endpoint: x"), "endpoint", "older tool", "write `endpoint_url`"),
    "older profile": (_one(f"{S3}, aws_profile: x"), "aws_profile", "older tool", "write `profile`"),
    # The store
    "endpoint without scheme": (
        _one(f"{S3}, endpoint_url: 'localhost:9000'"),
        "endpoint_url",
        "no URL of a store",
        "http://127.0.0.1:9000",
    ),
    "endpoint of another kind": (_one(f"{S3}, endpoint_url: 's3://b'"), "endpoint_url", "no URL", "https://"),
    "endpoint with port 0": (_one(f"{S3}, endpoint_url: 'http://h:0'"), "endpoint_url", "no URL", "https://"),
    "endpoint with no port": (
        _one(f"{S3}, endpoint_url: 'http://h:x'"),
        "endpoint_url",
        "no URL",
        "https://",
    ),
    "endpoint with a line": (
        _one(f'{S3}, endpoint_url: "http://h/\\n"'),
        "endpoint_url",
        "no URL",
        "https://",
    ),
    "endpoint with keys": (
        _one(f"{GCS}, endpoint_url: 'http://u:hunter2@h'"),
        "endpoint_url",
        "holds a user or a password",
        "the store alone",
    ),
    "endpoint with query": (_one(f"{S3}, endpoint_url: 'http://h?a=b'"), "endpoint_url", "parameters", None),
    "region": (_one(f"{S3}, region: 'eu west'"), "region", "'eu west' is no region", "eu-west-1"),
    "style": (_one(f"{S3}, addressing_style: host"), "addressing_style", "one of auto, path, virtual", None),
    "no CA file": (_one(f"{S3}, ca_file: no.pem"), "ca_file", "'no.pem' is no file", None),
    "long CA file": (
        _one(f"{S3}, ca_file: {'c' * 300}"),
        "ca_file",
        "cannot be found: file name too long",
        None,
    ),
    # Rights
    "half an identity": (
        _one(f"{S3}, access_key_env: STORE_KEY"),
        "secret_key_env",
        "is missing beside access_key_env",
        "name the variable",
    ),
    "a token alone": (
        _one(f"{S3}, session_token_env: STORE_TOKEN"),
        "access_key_env",
        "is missing beside session_token_env",
        "name the variable",
    ),
    "two identities": (
        _one(f"{S3}, profile: p, access_key_env: STORE_KEY, secret_key_env: STORE_SECRET"),
        "profile",
        "stands beside access_key_env",
        "one of them",
    ),
    "unset": (
        _one(f"{S3}, access_key_env: GONE, secret_key_env: STORE_SECRET"),
        "access_key_env",
        "environment variable 'GONE' is not set",
        "export GONE",
    ),
    "blank": (
        _one(f"{S3}, access_key_env: BLANK, secret_key_env: STORE_SECRET"),
        "access_key_env",
        "holds no key",
        "nothing else",
    ),
    "a line": (
        _one(f"{S3}, access_key_env: STORE_KEY, secret_key_env: LINE"),
        "secret_key_env",
        "holds no key",
        "nothing else",
    ),
    "empty": (
        _one(f"{S3}, access_key_env: STORE_KEY, secret_key_env: EMPTY"),
        "secret_key_env",
        "holds no key",
        "nothing else",
    ),
    "no credentials file": (
        _one(f"{GCS}, credentials_file: no.json"),
        "credentials_file",
        "is no file",
        None,
    ),
    # What is sent with objects
    "an archive": (_one(f"{S3}, storage_class: deep_archive"), "storage_class", "an archive", "GLACIER_IR"),
    "no class": (_one(f"{S3}, storage_class: 'a b'"), "storage_class", "no storage class", "STANDARD_IA"),
    "a key of nothing": (_one(f"{S3}, kms_key_id: k"), "kms_key_id", "by aws:kms only", "aws:kms"),
    "another cipher": (
        _one(f"{S3}, kms_key_id: k, server_side_encryption: AES256"),
        "kms_key_id",
        "by aws:kms only",
        "aws:kms",
    ),
    "acl": (_one(f"{S3}, acl: public"), "acl", "one of private, public-read", None),
}


@pytest.mark.parametrize(("text", "key", "message", "hint"), CASES.values(), ids=CASES)
def test_refusals_say_where_what_and_the_mend(
    refuse: Refuse, text: str, key: str, message: str, hint: str | None
) -> None:
    """Each is a problem at the key that must change, and it shows no secret."""
    problems = refuse(text, ENVIRON)

    found = [p for p in problems if p.path == f"{DESTINATION}.{key}" and message in p.message]
    assert found, problems
    assert hint is None or hint in (found[0].hint or "")
    assert not any(word in str(p) for p in problems for word in (ACCESS_KEY, SECRET_KEY, "hunter2"))


def test_a_partitioned_export_needs_a_placeholder(refuse: Refuse) -> None:
    """Without {partition} in the prefix there is nowhere to put partitions."""
    (problem,) = refuse(_by_day("type: s3, bucket: b, prefix: x"))

    assert problem.path == "$.exports[0].partition_by"
    assert "needs {partition} in the prefix" in problem.message


def test_anonymous_beside_credentials(refuse: Refuse, tmp_path: Path) -> None:
    """Nobody is anonymous with credentials."""
    (tmp_path / "key.json").touch()

    (problem,) = refuse(_one(f"{GCS}, anonymous: true, credentials_file: key.json"))

    assert (problem.path, "beside" in problem.message) == (f"{DESTINATION}.anonymous", True)


def test_authorities_without_tls(refuse: Refuse, tmp_path: Path) -> None:
    """Whoever names an authority does not mean to talk in clear text."""
    (tmp_path / "ca.pem").touch()

    (problem,) = refuse(_one(f"{S3}, ca_file: ca.pem, endpoint_url: 'HTTP://h'"))

    assert (problem.path, "without TLS" in problem.message) == (f"{DESTINATION}.ca_file", True)


@pytest.mark.parametrize("secret", [ACCESS_KEY, SECRET_KEY, "minioadmin", "'0123456789012345'", "123456789"])
@pytest.mark.parametrize("key", ["access_key_env", "secret_key_env", "session_token_env"])
def test_a_key_where_its_name_belongs_is_not_shown(refuse: Refuse, key: str, secret: str) -> None:
    """Whoever writes a key of the store into the config finds it in no message."""
    names = {"access_key_env": "STORE_KEY", "secret_key_env": "STORE_SECRET", key: secret}
    problems = refuse(_one(f"{S3}, {', '.join(f'{k}: {v}' for k, v in names.items())}"), ENVIRON)

    assert [p.path for p in problems if "missing" not in p.message] == [f"{DESTINATION}.{key}"]
    assert not any(secret.strip("'") in f"{p} {p.hint}" for p in problems)


@pytest.mark.parametrize("key", ["access_key", "secret_key", "session_token"])
def test_a_key_in_the_config_is_led_to_the_environment(refuse: Refuse, key: str) -> None:
    """No key takes a secret itself, and the mend is one that takes its name."""
    (problem,) = refuse(_one(f"{S3}, {key}: {SECRET_KEY}"))

    assert (problem.path, problem.message) == (f"{DESTINATION}.{key}", "unknown key")
    assert "_env?" in (problem.hint or "")
