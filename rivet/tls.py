"""One TLS setting, turned into what each driver wants.

`require` encrypts without looking at the certificate, `verify-ca` also checks who signed it, `verify-full`
also that it bears the host's name. None of them ever falls back to clear text.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from rivet.config.settings import Tls
from rivet.errors import SourceDenied

# Where systems keep their certificates in one file, for libpq, whose own OpenSSL may not know the place.
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def ssl_context(tls: Tls) -> ssl.SSLContext | None:
    """Make the context of a connection, or None for `disable`.

    Raises:
        SourceDenied: The setting cannot be met: its file of certificates is missing or holds none.
    """
    if tls.mode == "disable":
        return None
    _check(tls)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.mode == "verify-full"
    if tls.mode == "require":
        context.verify_mode = ssl.CERT_NONE
    elif tls.ca_file is None:
        context.load_default_certs()
    else:
        try:
            context.load_verify_locations(cafile=tls.ca_file)
        except (OSError, ssl.SSLError) as exc:
            raise SourceDenied(
                f"the certificates in ca_file {str(tls.ca_file)!r} cannot be read: {exc}",
                hint="name a PEM file that this user may read",
            ) from exc
    return context


def libpq_parameters(tls: Tls) -> dict[str, str]:
    """Give libpq's connection parameters.

    Raises:
        SourceDenied: The setting cannot be met.
    """
    if tls.mode == "disable":
        return {"sslmode": "disable"}
    _check(tls)
    parameters = {"sslmode": tls.mode}
    if tls.mode == "require":
        # Without a file of its own, libpq would verify when it finds one in the user's home.
        return parameters | {"sslrootcert": "/nonexistent"}
    if tls.ca_file is not None:
        return parameters | {"sslrootcert": str(tls.ca_file)}
    bundles = (ssl.get_default_verify_paths().cafile or "", *_SYSTEM_BUNDLES)
    found = next((path for path in bundles if Path(path).is_file()), "system")
    return parameters | {"sslrootcert": found}


def _check(tls: Tls) -> None:
    if tls.mode == "require" and tls.ca_file is not None:
        raise SourceDenied(
            "tls mode 'require' checks no certificate, so ca_file would have no effect",
            hint="write mode: verify-full, or verify-ca, or take ca_file out",
        )
    if tls.mode == "verify-ca" and tls.ca_file is None:
        raise SourceDenied(
            "tls mode 'verify-ca' without ca_file would trust anyone whom a public authority has signed",
            hint="name ca_file, or write mode: verify-full",
        )
