package main

import (
	"os"

	"github.com/hashicorp/go-hclog"
)

// logger is where providers and muster itself log: nowhere, unless MUSTER_LOG names a level
// (trace, debug, info, warn, error); then to standard error, or to the file that
// MUSTER_LOG_PATH names. The log is apart from messages to people.
func (t *terminal) logger() hclog.Logger {
	level := hclog.LevelFromString(os.Getenv("MUSTER_LOG"))
	if level == hclog.NoLevel {
		return hclog.NewNullLogger()
	}
	out := t.stderr
	if path := os.Getenv("MUSTER_LOG_PATH"); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.notef("MUSTER_LOG_PATH: %v\n", err)
		} else {
			out = f // closed with the process
		}
	}
	return hclog.New(&hclog.LoggerOptions{Name: "muster", Level: level, Output: out})
}
