// Package failure is the catalogue that names the cause of a failed job. The
// engine, the host queue and the wrapper use the same catalogue, so they agree.
package failure

// A Rule is one entry of a failure catalogue. A rule matches when its
// pattern matches the log's tail or its exit codes hold the job's.
type Rule struct {
	Name   string `json:"name"`
	Match  string `json:"match,omitempty"` // RE2 regular expression on the tail
	Exit   []int  `json:"exit,omitempty"`
	Class  string `json:"class"`
	Action string `json:"action,omitempty"` // "retry", "hold", "fail"; "" = by retry.on
	Hint   string `json:"hint,omitempty"`
}
