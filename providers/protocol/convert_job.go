package protocol

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

func envOut(e providers.EnvVar) *pb.EnvVar { return &pb.EnvVar{Name: e.Name, Value: []byte(e.Value)} }
func envIn(e *pb.EnvVar) providers.EnvVar {
	return providers.EnvVar{Name: e.Name, Value: string(e.Value)}
}

func requireOut(r providers.Require) *pb.Require {
	return &pb.Require{Path: []byte(r.Path), MinSize: r.MinSize, Message: r.Message}
}

func requireIn(r *pb.Require) providers.Require {
	return providers.Require{Path: string(r.Path), MinSize: r.MinSize, Message: r.Message}
}

func inputOut(i providers.Input) *pb.Input {
	return &pb.Input{Name: i.Name, Paths: bytesOf(i.Paths), List: []byte(i.List), Recorded: each(i.Recorded, recordedOut)}
}

func inputIn(i *pb.Input) providers.Input {
	return providers.Input{Name: i.Name, Paths: stringsOf(i.Paths), List: string(i.List), Recorded: each(i.Recorded, recordedIn)}
}

const sha256Prefix = "sha256:"

// recordedOut packs digest and stamp: an input may be a list of 100,000 files,
// and has to fit into one message.
func recordedOut(r providers.Recorded) *pb.Recorded {
	out := &pb.Recorded{Kind: r.Kind, Workdir: []byte(r.Workdir), Path: []byte(r.Path), Stamp: r.Stamp, Token: text(r.Token), Output: text(r.Output)}
	digits, ok := strings.CutPrefix(r.Digest, sha256Prefix)
	if sum, err := hex.DecodeString(digits); ok && err == nil && hex.EncodeToString(sum) == digits {
		out.Sha256 = sum
	} else {
		out.Digest = text(r.Digest)
	}
	return out
}

func recordedIn(r *pb.Recorded) providers.Recorded {
	out := providers.Recorded{Kind: r.GetKind(), Workdir: string(r.GetWorkdir()), Path: string(r.GetPath()), Digest: r.GetDigest(), Stamp: r.GetStamp(),
		Token: r.GetToken(), Output: r.GetOutput()}
	if sum := r.GetSha256(); len(sum) > 0 {
		out.Digest = sha256Prefix + hex.EncodeToString(sum)
	}
	return out
}

func outputOut(o providers.Output) *pb.Output {
	return &pb.Output{
		Name: o.Name, Kind: o.Kind, Path: []byte(o.Path), MinCount: int64(o.MinCount), MinSize: o.MinSize, Shared: o.Shared,
		VerifyTimeout: int64(o.VerifyTimeout), VerifyMaxSize: o.VerifyMaxSize,
		Verify: each(o.Verify, func(v providers.VerifyCheck) *pb.VerifyCheck {
			return &pb.VerifyCheck{Kind: v.Kind, Command: []byte(v.Command), File: []byte(v.File)}
		}),
	}
}

func outputIn(o *pb.Output) providers.Output {
	return providers.Output{
		Name: o.Name, Kind: o.Kind, Path: string(o.Path), MinCount: int(o.MinCount), MinSize: o.MinSize, Shared: o.Shared,
		VerifyTimeout: time.Duration(o.VerifyTimeout), VerifyMaxSize: o.VerifyMaxSize,
		Verify: each(o.Verify, func(v *pb.VerifyCheck) providers.VerifyCheck {
			return providers.VerifyCheck{Kind: v.Kind, Command: string(v.Command), File: string(v.File)}
		}),
	}
}

func metricOut(m providers.Metric) *pb.Metric {
	return &pb.Metric{Name: m.Name, Output: m.Output, Json: m.JSON, Column: m.Column, Regex: m.Regex, Required: m.Required}
}

func metricIn(m *pb.Metric) providers.Metric {
	return providers.Metric{Name: m.Name, Output: m.Output, JSON: m.Json, Column: m.Column, Regex: m.Regex, Required: m.Required}
}

func watchOut(w providers.Watch) *pb.Watch {
	if w.None() {
		return nil
	}
	return &pb.Watch{Forbid: w.Forbid, StalledAfter: int64(w.StalledAfter), End: w.End}
}

func watchIn(w *pb.Watch) providers.Watch {
	return providers.Watch{Forbid: w.GetForbid(), StalledAfter: time.Duration(w.GetStalledAfter()), End: w.GetEnd()}
}

func checkpointOut(c providers.Checkpoint) *pb.Checkpoint {
	if c == (providers.Checkpoint{}) {
		return nil
	}
	return &pb.Checkpoint{Path: []byte(c.Path), Interval: int64(c.Interval), Signal: c.Signal, Grace: int64(c.Grace)}
}

func checkpointIn(c *pb.Checkpoint) providers.Checkpoint {
	return providers.Checkpoint{
		Path: string(c.GetPath()), Interval: time.Duration(c.GetInterval()), Signal: c.GetSignal(), Grace: time.Duration(c.GetGrace()),
	}
}

func retryOut(r providers.Retry) *pb.Retry {
	return &pb.Retry{
		On: r.On, Max: int64(r.Max), Delay: int64(r.Delay),
		Scale: mapOf(r.Scale, func(s providers.Scale) *pb.Scale {
			return &pb.Scale{Memory: s.Memory, Cpus: s.CPUs, Gpus: s.GPUs, Walltime: s.Walltime, Disk: s.Disk}
		}),
	}
}

func retryIn(r *pb.Retry) providers.Retry {
	return providers.Retry{
		On: r.GetOn(), Max: int(r.GetMax()), Delay: time.Duration(r.GetDelay()),
		Scale: mapOf(r.GetScale(), func(s *pb.Scale) providers.Scale {
			return providers.Scale{
				Memory: s.GetMemory(), CPUs: s.GetCpus(), GPUs: s.GetGpus(), Walltime: s.GetWalltime(), Disk: s.GetDisk(),
			}
		}),
	}
}

func ruleOut(r failure.Rule) *pb.Rule {
	return &pb.Rule{
		Name: r.Name, Match: r.Match, Class: r.Class, Action: r.Action, Hint: r.Hint,
		Exit: each(r.Exit, func(n int) int64 { return int64(n) }),
	}
}

func ruleIn(r *pb.Rule) failure.Rule {
	return failure.Rule{
		Name: r.Name, Match: r.Match, Class: r.Class, Action: r.Action, Hint: r.Hint,
		Exit: each(r.Exit, func(n int64) int { return int(n) }),
	}
}

func jobOut(j *providers.Job) *pb.Job {
	return &pb.Job{
		Token: j.Token, Address: j.Address, Phase: j.Phase, Name: j.Name, Attempt: int64(j.Attempt), Pool: j.Pool,
		Shell: []byte(j.Shell), Argv: bytesOf(j.Argv), Workdir: []byte(j.Workdir), Dir: []byte(j.Dir),
		Setup: bytesOf(j.Setup), Env: each(j.Env, envOut), Image: j.Image,
		Shape: shapeOut(j.Shape), Options: j.Options,
		Inputs: each(j.Inputs, inputOut), Outputs: each(j.Outputs, outputOut), Metrics: each(j.Metrics, metricOut),
		Require: each(j.Require, requireOut), Checkpoint: checkpointOut(j.Checkpoint), Watch: watchOut(j.Watch),
		After: j.After, Retry: retryOut(j.Retry),
		Breaker: &pb.Breaker{SameError: int64(j.Breaker.SameError), Share: j.Breaker.Share, Jobs: int64(j.Breaker.Jobs)},
		Cap:     int64(j.Cap), Rules: each(j.Rules, ruleOut), Grace: int64(j.Grace), Smoke: j.Smoke,
		ResultHash: j.ResultHash, MoveAside: []byte(j.MoveAside), Guard: guardOut(j.Guard), Umask: umaskOut(j.Umask),
	}
}

func jobIn(j *pb.Job) providers.Job {
	return providers.Job{
		Token: j.GetToken(), Address: j.GetAddress(), Phase: j.GetPhase(), Name: j.GetName(), Attempt: int(j.GetAttempt()), Pool: j.GetPool(),
		Shell: string(j.GetShell()), Argv: stringsOf(j.GetArgv()), Workdir: string(j.GetWorkdir()), Dir: string(j.GetDir()),
		Setup: stringsOf(j.GetSetup()), Env: each(j.GetEnv(), envIn), Image: j.GetImage(),
		Shape: shapeIn(j.GetShape()), Options: raw(j.GetOptions()),
		Inputs: each(j.GetInputs(), inputIn), Outputs: each(j.GetOutputs(), outputIn), Metrics: each(j.GetMetrics(), metricIn),
		Require: each(j.GetRequire(), requireIn), Checkpoint: checkpointIn(j.GetCheckpoint()), Watch: watchIn(j.GetWatch()),
		After: j.GetAfter(), Retry: retryIn(j.GetRetry()),
		Breaker: providers.Breaker{SameError: int(j.GetBreaker().GetSameError()), Share: j.GetBreaker().GetShare(), Jobs: int(j.GetBreaker().GetJobs())},
		Cap:     int(j.GetCap()), Rules: each(j.GetRules(), ruleIn), Grace: time.Duration(j.GetGrace()), Smoke: j.GetSmoke(),
		ResultHash: j.GetResultHash(), MoveAside: string(j.GetMoveAside()), Guard: guardIn(j.GetGuard()), Umask: umaskIn(j),
	}
}

func umaskOut(m *int) *uint32 {
	if m == nil {
		return nil
	}
	n := uint32(*m)
	return &n
}

func umaskIn(j *pb.Job) *int {
	if j.Umask == nil {
		return nil
	}
	n := int(j.GetUmask() & 0o777)
	return &n
}

// submissionOut puts the secrets beside the job, never into it.
func submissionOut(j providers.Job) *pb.Submission {
	return &pb.Submission{Job: jobOut(&j), Secrets: each(j.Secrets, envOut)}
}

func submissionIn(s *pb.Submission) providers.Job {
	j := jobIn(s.GetJob())
	j.Secrets = each(s.GetSecrets(), envIn)
	return j
}

func guardOut(g *offer.Guard) *pb.Guard {
	if g == nil {
		return nil
	}
	return &pb.Guard{Own: each(g.Own, foundOut), Results: each(g.Results, foundOut), Replace: each(g.Replace, foundOut), Begun: g.Begun, Unseen: g.Unseen}
}

func guardIn(g *pb.Guard) *offer.Guard {
	if g == nil {
		return nil
	}
	return &offer.Guard{Own: each(g.GetOwn(), foundIn), Results: each(g.GetResults(), foundIn), Replace: each(g.GetReplace(), foundIn), Begun: g.GetBegun(), Unseen: g.GetUnseen()}
}
