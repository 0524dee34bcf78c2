package jobspec

import (
	"path"
	"strconv"
	"strings"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Attempt is an observation as the state keeps it.
func Attempt(backend, token string, o *offer.Observation, n int) state.Attempt {
	a := state.Attempt{
		N: n, Token: token, Backend: backend, Pool: o.Pool, Handle: o.Handle, Started: o.Started, NotRun: o.NotRun, Ended: o.Ended,
		Node: o.Node, GPUs: o.GPUs, Driver: o.Driver, Exit: o.Exit, Signal: o.Signal, Class: o.Class, Tail: o.Tail, Expected: o.Expected,
	}
	switch o.Status {
	case offer.Completed:
		a.Tail = nil // the log keeps it
	case offer.Failed, offer.Waiting, offer.Cancelled:
		if !o.Started.IsZero() && !o.NotRun {
			a.Left = leftOf(o)
		}
	}
	if u := o.Usage; u != nil {
		a.Usage = &state.Usage{Elapsed: u.Elapsed.Seconds(), CPU: u.CPU.Seconds(), MaxRSS: u.MaxRSS, GPUSeconds: u.GPUSeconds, GPUMaxMem: -1, Billed: u.Billed}
		if u.GPUMaxMem != nil {
			a.Usage.GPUMaxMem = *u.GPUMaxMem
		}
		if u.CPU < 0 {
			a.Usage.CPU = -1
		}
		if u.Elapsed < 0 {
			a.Usage.Elapsed = -1
		}
	}
	return a
}

// LaunchToken is TOKEN/N for launch n when its queue made it by itself, after
// the one that the token was minted for.
func LaunchToken(token string, after, n int) string {
	if after <= 0 {
		return token
	}
	return token + "/" + strconv.Itoa(n)
}

// OutputsOf are the outputs of an observation, as the state keeps them.
func OutputsOf(o *offer.Observation, backend, workdir string) []state.Output {
	if len(o.Outputs) == 0 {
		return nil
	}
	out := make([]state.Output, len(o.Outputs))
	for i, v := range o.Outputs {
		out[i] = state.Output{Name: v.Name, Backend: backend, Path: v.Path, Workdir: workdir, Size: v.Size,
			Digest: v.Digest, MTime: v.MTime, Inode: v.Inode, CTime: v.CTime, Files: v.Files}
	}
	return out
}

// leftOf lists the files of an attempt that did not complete.
func leftOf(o *offer.Observation) []state.Output {
	left := OutputsOf(o, "", "")
	for i := range left {
		left[i].Digest = ""
	}
	return left
}

// AsideOf says where the outputs of the result that a launch replaces go, ""
// when it replaces none.
func AsideOf(rec *state.Job, token string) string {
	if rec == nil || len(rec.Attempts) == 0 {
		return ""
	}
	if last := rec.Last(); connection.Stem(last.Token) == token { // the same intent again
		return last.Replaces
	}
	if rec.Status != state.Completed && len(rec.Outputs) == 0 {
		return ""
	}
	return path.Join(".muster", "replaced", strings.ReplaceAll(rec.Last().Token, "/", "."))
}
