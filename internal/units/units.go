// Package units parses and formats durations, sizes, numbers and amounts.
// Formatted values parse to the same value. It never guesses: a bare number is
// an error that shows what to write.
package units
