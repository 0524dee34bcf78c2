// Package style checks messages, documentation and comments for the words that
// docs/style.md avoids. It consists of tests.
package style
