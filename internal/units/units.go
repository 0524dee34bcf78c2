// Package units reads and writes durations, sizes, numbers and amounts. It
// promises that what it prints as a user would write it reads back as the
// same value, and that nothing ambiguous is guessed at: a bare number is an
// error that says what to write.
package units
