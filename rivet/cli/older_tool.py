"""Options of the older tool of this name that do not exist here, each with what to write instead."""

_ONE_BY_ONE = "leave it out: exports run one after another, each in one pass over its table"

OLDER_OPTIONS = {
    "-c": "write --config",
    "-e": "write --export",
    "-p": "write the value into the query, or as ${env:NAME} in the config",
    "--param": "write the value into the query, or as ${env:NAME} in the config",
    "--parallel-exports": _ONE_BY_ONE,
    "--parallel-export-processes": _ONE_BY_ONE,
    "--reconcile": "leave it out: no partition is published before its rows agree with the source's count",
    "--resume": "leave it out: the same command finishes or undoes what a killed run had begun",
    "--force": "leave it out: nothing is refused that it could force",
    "--summary-output": "write --summary-file",
    "--format": "write --json",
    "--json-errors": "write --json",
}
