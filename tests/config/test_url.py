"""Connection URLs: read in one way, or refused."""

from __future__ import annotations

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivet.config.url import Location, UrlError, parse_url


def _parts(location: Location) -> tuple[object, ...]:
    password = None if location.password is None else location.password.reveal()
    return location.user, password, location.host, location.port, location.database


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("postgresql://u:p@h:5432/d", ("u", "p", "h", 5432, "d")),
        ("postgres://h/d", (None, None, "h", None, "d")),
        ("POSTGRESQL+psycopg://u@h/d", ("u", None, "h", None, "d")),
        ("postgresql:///d", (None, None, None, None, "d")),
        ("postgresql://u:@h/d", ("u", "", "h", None, "d")),
        ("postgresql://u:p@[::1]:5432/d", ("u", "p", "::1", 5432, "d")),
        ("postgresql://u:p@[fe80::1%25eth0]/d", ("u", "p", "fe80::1%eth0", None, "d")),
        ("postgresql://u@%2Frun%2Fpostgresql/d", ("u", None, "/run/postgresql", None, "d")),
        ("postgresql://u@/d?host=/run/pg&port=54329", ("u", None, "/run/pg", 54329, "d")),
        ("mysql://u@/d?unix_socket=/run/my.sock", ("u", None, "/run/my.sock", None, "d")),
        ("mariadb+pymysql://u:p@h/d?", ("u", "p", "h", None, "d")),
        ("postgresql://me@corp:p@h/d", ("me@corp", "p", "h", None, "d")),
        ("postgresql://u%3A:p%2540@h/my%20shop%2F1", ("u:", "p%40", "h", None, "my shop/1")),
        # Passwords that should have been encoded, where only one reading is left
        ("postgresql://u:p@ss/w?rd#1%@h:5432/d", ("u", "p@ss/w?rd#1%", "h", 5432, "d")),
        ("postgresql://u:12/3@h/d", ("u", "12/3", "h", None, "d")),
        ("postgresql://u:@@h/d", ("u", "@", "h", None, "d")),
        ("postgresql://u:a:b[c]@h/d", ("u", "a:b[c]", "h", None, "d")),
        ("postgresql://u:p w+%zz@h/d", ("u", "p w+%zz", "h", None, "d")),
    ],
)
def test_urls_are_read(url: str, parts: tuple[object, ...]) -> None:
    """Each part is decoded once, and a socket stands where the host would."""
    assert _parts(parse_url(url)) == parts


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        ("", "is empty", "postgresql"),
        (" \n", "is empty", "postgresql"),
        ("'postgresql://u:p@h/d'", "begins with a quote", "take the quotes away"),
        ('"postgresql://u:p@h/d"\n', "begins with a quote", "take the quotes away"),
        ("h/d", "no known scheme", "postgresql"),
        ("jdbc:postgresql://h/d", "no known scheme", "postgresql"),
        ("mssql://h/d", "no known scheme", "postgresql"),
        ("${DATABASE_URL}", "no known scheme", "postgresql"),
        ("postgresql://u:p@h", "names no database", "/database"),
        ("postgresql://u:p@h/", "names no database", "/database"),
        ("postgresql://u:p@h:99999/d", "port", "after the host"),
        ("postgresql://u:p@h:0/d", "port", "after the host"),
        ("postgresql://u:p@h:x/d", "cannot be read", "percent-encoded"),
        ("postgresql://h1,h2/d", "cannot be read", "percent-encoded"),
        ("postgresql://u:p@h/d#x", "cannot be read", "percent-encoded"),
        ("postgresql://u:p@h/d@x", "cannot be read", "percent-encoded"),
        ("postgresql://u:p@[::1/d", "cannot be read", "percent-encoded"),
        ("postgresql://u:%FF@h/d", "not UTF-8", "percent-encoded"),
        ("postgresql://u:p%00@h/d", "not UTF-8", "percent-encoded"),
        ("postgresql://u:p@h/d?host=/x", "two hosts", "one of them"),
        ("postgresql://" + "@" * 9000, "too long", "begin with"),
        # A guess could send the password to the wrong host.
        ("postgresql://u:p@h/d?application_name=x@y/z", "more than one way", "percent-encoded"),
        ("postgresql://u:a@b/c?d=e@h/d", "more than one way", "percent-encoded"),
        # Parameters
        ("postgresql://h/d?sslmode=require", "'sslmode', which is refused", "tls: {mode: verify-full}"),
        ("postgresql://h/d?channel_binding=require", "'channel_binding', which is refused", "tls: "),
        ("mysql://h/d?ssl-mode=REQUIRED", "'ssl-mode', which is refused", "tls: "),
        ("mysql://h/d?ssl_ca=/x.pem", "'ssl_ca', which is refused", "tls: "),
        ("mysql://h/d?useSSL=true", "'useSSL', which is refused", "tls: "),
        ("mysql://h/d?charset=utf8mb4", "'charset', which is refused", "UTF-8"),
        (
            "postgresql://h/d?connect_timeout=5",
            "'connect_timeout', which is refused",
            "connect_timeout_seconds",
        ),
        ("postgresql://h/d?options=-csearch_path%3Dx", "'options', which is refused", "take it out"),
        ("mysql://u@/d?host=/run/x", "a parameter, which is refused", "take it out"),
        ("postgresql://h/d?port=1&port=2", "'port', which is refused", "take it out"),
        # SQLite
        ("sqlite://", "no SQLite file", "sqlite:///"),
        ("sqlite:///:memory:", "no SQLite file", "sqlite:///"),
        ("sqlite:///x.db?mode=ro", "no SQLite file", "sqlite:///"),
    ],
)
def test_urls_are_refused(url: str, message: str, hint: str) -> None:
    """What cannot be read in one way, or would be read in silence, is refused with the mend."""
    with pytest.raises(UrlError, match="URL") as caught:
        parse_url(url)

    assert message in str(caught.value)
    assert hint in caught.value.hint


_PART = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(user=_PART, password=_PART, database=_PART)
def test_encoded_urls_round_trip(user: str, password: str, database: str) -> None:
    """Any user, password and database arrive when they are percent-encoded."""
    url = f"mysql://{quote(user, safe='')}:{quote(password, safe='')}@h:1/{quote(database, safe='')}"

    assert _parts(parse_url(url)) == (user, password, "h", 1, database)


@given(password=st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), max_size=12))
def test_bare_passwords_are_never_sent_elsewhere(password: str) -> None:
    """A password that is not encoded is read whole, or the URL is refused: the host is never another one."""
    try:
        location = parse_url(f"postgresql://u:{password}@db.example:5432/shop")
    except UrlError:
        return

    assert _parts(location) == ("u", unquote(password), "db.example", 5432, "shop")
