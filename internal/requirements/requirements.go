// Package requirements keeps docs/requirements.md true: the page lists the demands of
// the field's practice on muster, row by row, with the tests that show each row. It
// consists of tests and of rows.tsv.
package requirements
