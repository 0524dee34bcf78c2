// Package requirements keeps docs/requirements.md true: the page lists what the field's
// practice asks of muster, row by row, with the tests that show each row. It consists of
// tests and of rows.tsv.
package requirements
