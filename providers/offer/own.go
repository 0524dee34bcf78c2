package offer

import (
	"path"
	"strings"
)

// Files that muster writes in folders of users.
const (
	RunRecord    = "muster-run.json"         // written by pull, beside its copies
	SharedLedger = "muster.ledger.jsonl"     // spending of campaigns that share budgets
	Precedents   = "muster.precedents.jsonl" // finished phases of a lab's campaigns
)

// Own reports whether a slash-separated path is a file that muster writes beside a
// campaign or its results: its state, its lock file, the record of a pull, the files that
// campaigns share. No job makes one, and no source contains one.
func Own(name string) bool {
	base := path.Base(name)
	switch base {
	case ".muster.lock.hcl", RunRecord, SharedLedger, Precedents:
		return true
	}
	return strings.HasPrefix(base, "muster.state.")
}
