// Package source knows the code a campaign depends on by its content: the
// digest of a tree, and read-only copies of it named by that digest.
package source
