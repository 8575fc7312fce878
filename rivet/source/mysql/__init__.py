"""MySQL and MariaDB: described through PyMySQL, probed and read through asyncmy, in one snapshot."""

from rivet.source.mysql.source import MysqlSource as MysqlSource
