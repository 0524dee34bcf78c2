package protocol

import (
	"cmp"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

func observationOut(o offer.Observation) *pb.Observation {
	out := &pb.Observation{
		Token: text(o.Token), Presence: int32(o.Presence), Handle: text(o.Handle), Status: string(o.Status), Attempt: int64(o.Attempt),
		Signal: text(o.Signal), Class: text(o.Class), Started: nanos(o.Started), Ended: nanos(o.Ended), Pool: text(o.Pool), Node: text(o.Node),
		Gpus: texts(o.GPUs), Reason: text(o.Reason), Tail: texts(o.Tail), Expected: nanos(o.Expected),
		Outputs: each(o.Outputs, foundOut), Usage: usageOut(o.Usage), Duplicate: text(o.Duplicate), Inputs: mapOf(o.Inputs, text), Earlier: each(o.Earlier, observationOut),
		Stage: string(o.Stage), HeldBy: string(o.HeldBy),
		Metrics: mapOf(o.Metrics, func(m offer.Metric) *pb.MetricFound {
			return &pb.MetricFound{Text: text(m.Text), Error: text(m.Error)}
		}),
	}
	if o.Exit != nil {
		exit := int64(*o.Exit)
		out.Exit = &exit
	}
	if o.Got != nil {
		out.Got = shapeOut(*o.Got)
	}
	return out
}

func observationIn(o *pb.Observation) offer.Observation {
	out := offer.Observation{
		Token: o.Token, Presence: offer.Presence(o.Presence), Handle: o.Handle, Status: offer.Status(o.Status), Attempt: int(o.Attempt),
		Signal: o.Signal, Class: o.Class, Started: instant(o.Started), Ended: instant(o.Ended), Pool: o.Pool, Node: o.Node,
		GPUs: o.Gpus, Reason: o.Reason, Tail: o.Tail, Expected: instant(o.Expected),
		Outputs: each(o.Outputs, foundIn), Usage: usageIn(o.Usage), Duplicate: o.Duplicate, Inputs: o.Inputs, Earlier: each(o.Earlier, observationIn),
		Stage: offer.Stage(o.Stage), HeldBy: offer.Holder(o.HeldBy),
		Metrics: mapOf(o.Metrics, func(m *pb.MetricFound) offer.Metric {
			return offer.Metric{Text: m.GetText(), Error: m.GetError()}
		}),
	}
	if o.Exit != nil {
		exit := int(*o.Exit)
		out.Exit = &exit
	}
	if o.Got != nil {
		got := shapeIn(o.Got)
		out.Got = &got
	}
	return out
}

func foundOut(o offer.Output) *pb.OutputFound {
	return &pb.OutputFound{
		Name: text(o.Name), Path: []byte(o.Path), Size: o.Size, Digest: o.Digest, Mtime: o.MTime, Inode: o.Inode,
		Files: int64(o.Files), Verdict: text(o.Verdict), Ok: o.OK, Ctime: o.CTime, Present: o.Present, Unverified: o.Unverified,
	}
}

func foundIn(o *pb.OutputFound) offer.Output {
	return offer.Output{
		Name: o.Name, Path: string(o.Path), Size: o.Size, Digest: o.Digest, MTime: o.Mtime, Inode: o.Inode,
		Files: int(o.Files), Verdict: o.Verdict, OK: o.Ok, CTime: o.Ctime, Present: o.Present, Unverified: o.Unverified,
	}
}

func usageOut(u *offer.Usage) *pb.Usage {
	if u == nil {
		return nil
	}
	unknown := int64(-1) // said: to a muster that reads a plain number, what is absent is 0
	return &pb.Usage{
		Elapsed: int64(u.Elapsed), Cpu: int64(u.CPU), MaxRss: u.MaxRSS, GpuSeconds: u.GPUSeconds, GpuMaxMem: cmp.Or(u.GPUMaxMem, &unknown), Billed: u.Billed,
	}
}

func usageIn(u *pb.Usage) *offer.Usage {
	if u == nil {
		return nil
	}
	out := &offer.Usage{
		Elapsed: time.Duration(u.Elapsed), CPU: time.Duration(u.Cpu), MaxRSS: u.MaxRss, GPUSeconds: u.GpuSeconds, Billed: u.Billed,
	}
	if u.GetGpuMaxMem() >= 0 {
		out.GPUMaxMem = u.GpuMaxMem
	}
	return out
}

func noteOut(n providers.Note) *pb.Note {
	return &pb.Note{Kind: n.Kind, Phase: n.Phase, Text: text(n.Text)}
}

func noteIn(n *pb.Note) providers.Note {
	return providers.Note{Kind: n.Kind, Phase: n.Phase, Text: n.Text}
}

func outcomeOut(o providers.Outcome) *pb.Outcome {
	return &pb.Outcome{Id: text(o.ID), What: text(o.What), Error: errorOut(o.Err)}
}

func outcomeIn(o *pb.Outcome) providers.Outcome {
	return providers.Outcome{ID: o.Id, What: o.What, Err: errorIn(o.Error)}
}

func submittedOut(s providers.Submitted) *pb.Submitted {
	return &pb.Submitted{Token: s.Token, Handle: text(s.Handle), Error: errorOut(s.Err), Stage: string(s.Stage), HeldBy: string(s.HeldBy)}
}

func submittedIn(s *pb.Submitted) providers.Submitted {
	return providers.Submitted{Token: s.Token, Handle: s.Handle, Err: errorIn(s.Error), Stage: offer.Stage(s.Stage), HeldBy: offer.Holder(s.HeldBy)}
}

func fileOut(f providers.FileInfo) *pb.FileInfo {
	return &pb.FileInfo{Path: []byte(f.Path), Size: f.Size, Mtime: f.MTime, Inode: f.Inode, Dir: f.Dir}
}

func fileIn(f *pb.FileInfo) providers.FileInfo {
	return providers.FileInfo{Path: string(f.Path), Size: f.Size, MTime: f.Mtime, Inode: f.Inode, Dir: f.Dir}
}
