"""Environment variables in a config, and that no secret of one is ever shown."""

from __future__ import annotations

import pytest

from rivet.config.settings import Secret
from tests.config.conftest import ONE_EXPORT, Load, Refuse

NASTY = "pa$USER: {x}#1 ${env:HOME} %41 'q\" \\ & * é"


def test_variables_are_replaced_once_after_the_yaml_is_read(load: Load) -> None:
    """A value may hold YAML's own signs and what looks like another variable."""
    settings = load(
        f"source: {{type: postgres, host: '${{env:H}}', port: '${{env:P}}', database: 'shop_${{env:H}}',"
        f" password: '${{env:PW}}'}}\n{ONE_EXPORT}",
        {"H": "db", "P": "5433", "PW": NASTY, "HOME": "/root"},
    )

    source = settings.source
    assert (source.host, source.port, source.database) == ("db", 5433, "shop_db")
    assert source.password == Secret(NASTY)


def test_other_forms_are_not_replaced(load: Load) -> None:
    """Only the documented form is one; a query keeps its dollar signs."""
    query = "SELECT $$a$$, '${HOME}', '$HOME', '$(id)', '%(x)s' FROM t"
    settings = load(
        f'source: {{type: sqlite, path: x}}\nexports: [{{name: e, query: "{query}",'
        " destination: {type: local, path: x}}]",
        {"HOME": "/root"},
    )

    assert settings.exports[0].query == query


@pytest.mark.parametrize(
    ("source", "environ", "password"),
    [
        ("{type: mysql, host: h, database: d, password_env: PW}", {"PW": NASTY}, NASTY),
        ("{type: mysql, host: h, database: d, password_env: PW}", {"PW": ""}, ""),
        ("{type: mysql, url_env: U}", {"U": "mysql://u:%70%2541@h/d\n"}, "p%41"),
        ("{type: mysql, url: '${env:U}'}", {"U": "mysql://u:p@ss/w?rd#1%@h/d"}, "p@ss/w?rd#1%"),
        ("{type: mysql, url: 'mysql://u:${env:PW}@h/d'}", {"PW": "p@ss/w?rd#1%"}, "p@ss/w?rd#1%"),
    ],
)
def test_passwords_arrive_as_they_are(
    load: Load, source: str, environ: dict[str, str], password: str
) -> None:
    """A password from a variable of its own is taken as it is; one in a URL is decoded once."""
    assert load(f"source: {source}\n{ONE_EXPORT}", environ).source.password == Secret(password)


@pytest.mark.parametrize(
    ("source", "path", "message"),
    [
        ("{type: mysql, url_env: GONE}", "$.source.url_env", "environment variable 'GONE' is not set"),
        ("{type: mysql, url: '${env:GONE}'}", "$.source.url", "environment variable 'GONE' is not set"),
        (
            "{type: mysql, host: h, database: d, password_env: GONE}",
            "$.source.password_env",
            "environment variable 'GONE' is not set",
        ),
        (
            "{type: mysql, url: '${env:A B}'}",
            "$.source.url",
            "expected the name of an environment variable: letters, digits and _",
        ),
        (
            "{type: mysql, host: h, database: d, password_env: hunter2}",
            "$.source.password_env",
            "the environment variable that it names is not set",
        ),
        ("{type: mysql, url: '${env:GONE'}", "$.source.url", "'${env:' has no '}'"),
        ("{type: mysql, url_env: BYTES}", "$.source.url_env", "environment variable 'BYTES' is not UTF-8"),
    ],
)
def test_a_missing_variable_is_one_problem(refuse: Refuse, source: str, path: str, message: str) -> None:
    """What cannot be looked up is named where it stands, and nothing follows from it."""
    (problem,) = refuse(f"source: {source}\n{ONE_EXPORT}", {"BYTES": "\udcff"})

    assert (problem.path, problem.message) == (path, message)


SECRET = "hunter2"
URL = f"postgresql://app:{SECRET}@db/shop"


@pytest.mark.parametrize(
    "source",
    [
        f"{{type: mysql, url: '{URL}'}}",
        f"{{type: postgres, url: '{URL}?sslmode=require&sslpassword={SECRET}'}}",
        f"{{type: postgres, url: '{URL}/x'}}",
        f"{{type: postgres, url: '{URL}', password: 7{SECRET}, port: 1}}",
        f"{{type: postgres, url: ['{URL}']}}",
        f"{{type: postgres, url_env: '{URL}'}}",
        f"{{type: postgres, url_file: '{URL}'}}",
        f"{{type: postgres, host: '{URL}', database: d}}",
        f"{{type: '{URL}'}}",
        f"{{type: postgres, port: '{URL}'}}",
        f"{{{URL}}}",
        f"{{'{URL}': 1}}",
        f"'{URL}'",
        "{type: mysql, url_env: U}",
        "{type: postgres, url: 'postgresql://app@db/shop?${env:S}=1'}",
        "{type: '${env:S}', host: h, database: d}",
        "{type: postgres, port: '${env:S}', host: h, database: d}",
        "{type: postgres, tls: {mode: '${env:S}', ca_file: '${env:S}'}, host: h, database: d}",
        "{type: postgres, url_file: '${env:S}'}",
        "{type: postgres, password: '${env:S}', host: 'a b', database: d}",
        f'{{type: postgres, password: "{SECRET}\\0", host: h, database: d}}',
        f"{{type: postgres, password: *{SECRET}, host: h}}",
        f"{{type: postgres, password_env: {SECRET}, host: h, database: d}}",
        f"{{type: postgres, password: !{SECRET} x, host: h}}",
    ],
)
def test_no_secret_is_shown(refuse: Refuse, source: str) -> None:
    """Whatever is wrong, and wherever the secret was written, no message holds it."""
    problems = refuse(f"source: {source}\n{ONE_EXPORT}", {"U": URL, "S": SECRET})

    for problem in problems:
        assert SECRET not in f"{problem!r}"


def test_settings_do_not_show_the_password(load: Load) -> None:
    """Settings may be logged."""
    settings = load(f"source: {{type: postgres, url: '{URL}'}}\n{ONE_EXPORT}")

    assert SECRET not in f"{settings!r} {settings!s} {settings.source.password}"
    assert settings.source.password is not None
    assert settings.source.password.reveal() == SECRET


TWO_EXPORTS = """
source: {type: postgres, url: 'postgresql://h/d'}
exports:
  - {name: near, table: a, destination: {type: local, path: './near/${env:NEAR}'}}
  - {name: far, table: b, destination: {type: s3, bucket: '${env:LAKE}', prefix: far/, access_key_env: KEY,
     secret_key_env: SECRET}}
"""


def test_only_exports_that_are_asked_for_need_their_variables(load: Load, refuse: Refuse) -> None:
    """What another names and is not set is no fault of these; all else that is wrong with it is told."""
    settings = load(TWO_EXPORTS, {"NEAR": "here"}, chosen=["near"])
    assert [export.name for export in settings.exports] == ["near"]
    both = {"NEAR": "here", "LAKE": "lake", "KEY": "k", "SECRET": "s"}
    assert [export.name for export in load(TWO_EXPORTS, both, chosen=["near"]).exports] == ["near", "far"]

    for chosen in ([], ["far"], ["near", "far"]):
        found = [problem.path for problem in refuse(TWO_EXPORTS, {"NEAR": "here"}, chosen)]
        assert found == [
            "$.exports[1].destination.bucket",
            "$.exports[1].destination.access_key_env",
            "$.exports[1].destination.secret_key_env",
        ]
    assert [p.path for p in refuse(TWO_EXPORTS, {}, ["near"])] == ["$.exports[0].destination.path"]
    wrong = TWO_EXPORTS.replace("prefix: far/", "prefix: far/, endpoint: x")
    assert [p.path for p in refuse(wrong, {"NEAR": "here"}, ["near"])] == [
        "$.exports[1].destination.endpoint"
    ]


def test_a_name_that_no_export_has_excuses_none(refuse: Refuse) -> None:
    """Who asks for an export that is not there is told first what the config wants of the environment."""
    assert len(refuse(TWO_EXPORTS, {"NEAR": "here"}, ["nearby"])) == 3
