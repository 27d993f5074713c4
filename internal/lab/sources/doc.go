// Package sources holds the generated packages of specs to what the five source
// documents say and no table shows, as a program meets it, over SQLite and PostgreSQL.
// specs/RULES.md names the tests with the lines.
package sources
