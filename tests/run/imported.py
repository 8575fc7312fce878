"""Imports all that a run into any destination imports on its way, for processes that fork runs.

Each run is then cheap, and all of them are of the same code, whatever becomes of its files meanwhile.
"""

from __future__ import annotations

import adbc_driver_sqlite.dbapi  # noqa: F401
import boto3  # noqa: F401

import rivet.attempt.attempt
import rivet.config.load
import rivet.destination.gcs.destination
import rivet.destination.s3.destination
import rivet.export.stage
import rivet.exporting
import rivet.history
import rivet.ledger.store
import rivet.preparing.planned
import rivet.report.summary
import rivet.report.validation
import rivet.run
import rivet.source.opening
import rivet.source.sqlite.session
import rivet.source.sqlite.source
import rivet.tls  # noqa: F401
