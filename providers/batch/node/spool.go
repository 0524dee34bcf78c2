// Package node runs a job on a compute node. It claims the job's token, runs
// its command, verifies its outputs and records how it ended before the
// scheduler sees the exit code. So afterok means verified, even with muster
// off.
package node

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	proc "github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A Spool is one campaign's directory on a cluster, seen by login and compute
// nodes alike:
//
//	batches/BATCH/   one array: script.sh, jobs, index; see Batch
//	claims/TOKEN/    there = claimed; holds the id of the job that did. TOKEN/N: restart N
//	starts/TOKEN.N   restart N began: where, when, with which devices
//	ends/TOKEN.N     restart N ended, and how
//	marks/HASH       what the outputs of a result hash were before its first attempt
//	run/TOKEN.N/     the wrapper's folder while it runs
//	heirs/TOKEN      the token that stands for one that ended without success
//	cancels/TOKEN    a person, or the engine, cancelled it
//	missing/TOKEN    since it was written neither the queue nor accounting has known of it
//	errors/          the same failure again and again; see breaker
//	stop, stop.OF    nothing (of a phase, or of what else a breaker stops) starts while it is there; holds the reason
//	cluster          the cluster that has its jobs, by its name
//	fence            the largest fencing number seen
type Spool string

func (s Spool) path(parts ...string) string {
	return filepath.Join(append([]string{string(s)}, parts...)...)
}

// Dirs are the folders of a spool.
var Dirs = []string{"batches", "claims", "starts", "ends", "marks", "run", "errors", "cancels", "heirs", "out", "stalls", "holds"}

// A Begin is a start's record of itself.
type Begin struct {
	Token   string    `json:"token"`
	ID      string    `json:"id"` // as the scheduler prints it: "1234_5" of Slurm, "1234[5].server" of PBS
	Restart int       `json:"restart"`
	At      time.Time `json:"at"`
	Node    string    `json:"node"`
	GPUs    []string  `json:"gpus,omitempty"`
	Pool    string    `json:"pool,omitempty"`
	// Process is the one that runs the job on its node; nil = not known.
	Process *proc.ID `json:"process,omitempty"`
}

// An End is how one start ended.
type End struct {
	Begin
	// Final says that nothing more follows by itself; else it was requeued.
	Final bool `json:"final"`
	// Outside says that the scheduler ended it, for its own reason: preempted, cancelled, out
	// of time.
	Outside bool `json:"outside,omitempty"`
	// Refused says why the command was not run: a dependency did not complete, or its phase
	// was stopped.
	Refused string `json:"refused,omitempty"`
	// Unbegun says that the start was put off before it claimed anything: it is no launch of
	// the command. See postpone.
	Unbegun   bool   `json:"unbegun,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Growth is the larger request of the next start.
	Growth *Growth           `json:"growth,omitempty"`
	Seen   offer.Observation `json:"seen"`
}

// Completed reports whether the command ran and its outputs were verified.
func (e End) Completed() bool { return e.Seen.Status == offer.Completed }

// RecordName is the name of a start's or end's record.
func RecordName(token string, restart int) string { return token + "." + strconv.Itoa(restart) }

// ParseRecordName is its inverse.
func ParseRecordName(name string) (token string, restart int, ok bool) {
	token, n, ok := strings.Cut(name, ".")
	if !ok {
		return "", 0, false
	}
	restart, err := strconv.Atoi(n)
	return token, restart, err == nil && token != ""
}

// stallName names the k-th note, from 1, of a start whose command has stalled,
// where k is odd, or goes on, where k is even.
func stallName(token string, restart, k int) string {
	return RecordName(token, restart) + "." + strconv.Itoa(k)
}

// ReadStall reads a note by its name: its start, and why the command has stalled, "" where it
// goes on.
func (s Spool) ReadStall(name string) (token string, restart int, why string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", 0, "", false
	}
	token, restart, ok = ParseRecordName(name[:i])
	text, err := os.ReadFile(s.path("stalls", name))
	return token, restart, strings.TrimSpace(string(text)), ok && err == nil
}

// ReadBegin reads the record of a start.
func (s Spool) ReadBegin(token string, restart int) (b Begin, err error) {
	err = readJSON(s.path("starts", RecordName(token, restart)), &b)
	return b, err
}

// ReadEnd reads the record of an end.
func (s Spool) ReadEnd(token string, restart int) (e End, err error) {
	err = readJSON(s.path("ends", RecordName(token, restart)), &e)
	return e, err
}

// LastEnd is the end of the latest start of a token that has ended.
func (s Spool) LastEnd(token string) (End, bool) {
	var last End
	found := false
	for n := 0; ; n++ {
		e, err := s.ReadEnd(token, n)
		if err == nil {
			last, found = e, true
			continue
		}
		// A start without an end, or one that never ran, and one after it.
		next := s.nextClaim(token, n)
		if next == 0 {
			return last, found
		}
		n = next - 1
	}
}

// Claimed is the id of the job that holds the claim of a token, "" if none does.
func (s Spool) Claimed(token string) string {
	b, err := os.ReadFile(s.path("claims", token, "id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Heir is the token that replaces another: that of a later launch of the same job. Most tokens
// have no heir but themselves.
func (s Spool) Heir(token string) string {
	for range 1000 { // a circle is a damaged spool
		b, err := os.ReadFile(s.path("heirs", token))
		next := strings.TrimSpace(string(b))
		if err != nil || next == "" {
			return token
		}
		token = next
	}
	return token
}

// Stopped says why jobs of a phase, or of what else Job.StoppedAs has, may not start, "" if they
// may.
func (s Spool) Stopped(of string) string {
	for _, name := range []string{"stop", StopFile(of)} {
		if b, err := os.ReadFile(s.path(name)); err == nil {
			return strings.TrimSpace(string(b))
		}
	}
	return ""
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(b, '\n'), 0o600)
}

// marks are the baseline of a job's outputs, taken once, before the first attempt of its
// result hash. The first to write it wins.
func (s Spool) marks(j *providers.Job) (verify.Baseline, error) {
	path := s.marksOf(j)
	var marks verify.Baseline
	if err := readJSON(path, &marks); err == nil {
		return marks, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	taken := verify.Take(j.Workdir, j.Outputs)
	return taken, writeJSON(path, taken)
}

// forgetMarks lets a later run of the same work have a baseline of its own.
func (s Spool) forgetMarks(j *providers.Job) { os.Remove(s.marksOf(j)) }

func (s Spool) marksOf(j *providers.Job) string {
	return s.path("marks", cmp.Or(j.ResultHash, j.Token))
}
