// Command bench measures muster as a whole process, on this machine, in one
// run: how long plans and rehearsals take and what memory, how many no-op jobs a second go
// through the local backend, and the same jobs through GNU parallel,
// task-spooler, make and xargs beside it. Read ratios, for machines are noisy.
//
//	go run ./internal/bench [-muster bin/muster] [-short]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	muster := flag.String("muster", "bin/muster", "the binary to measure")
	short := flag.Bool("short", false, "smaller sizes, for CI")
	only := flag.String("only", "", "plan, join, replan, rehearse or jobs: only that part")
	flag.Parse()
	bin, err := filepath.Abs(*muster)
	if err != nil {
		fail(err)
	}
	dir, err := os.MkdirTemp("", "muster-bench-")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(dir)
	b := bench{muster: bin, dir: dir, short: *short}
	for _, part := range []struct {
		name string
		run  func() error
	}{{"plan", b.plans}, {"join", b.join}, {"replan", b.replans}, {"rehearse", b.rehearsals}, {"jobs", b.jobs}} {
		if *only != "" && *only != part.name {
			continue
		}
		if err := part.run(); err != nil {
			os.RemoveAll(dir)
			fail(err)
		}
	}
}

// A bench is one run of the whole.
type bench struct {
	muster, dir string
	short       bool
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}
