package protocol

import (
	"cmp"
	"strconv"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// A provider repeats what a host says, and a host may say anything. These
// amendments remove from an answer all that could drive a terminal, and
// impossible quantities.

const (
	mostText     = 4 << 10 // bytes of a text for people
	mostLaunches = 1 << 20 // of a job
)

// said cleans texts for people.
func said(list ...*string) {
	for _, s := range list {
		*s = term.Clean(cutAt(*s, mostText))
	}
}

func cutAt(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// atLeast raises numbers to a least one: 0, or -1 where that is unknown.
func atLeast[T cmp.Ordered](least T, list ...*T) {
	for _, n := range list {
		*n = max(*n, least)
	}
}

// rates removes text that is no price, and reports whether any was.
func rates(list ...*string) (wrong bool) {
	for _, r := range list {
		if *r == "" {
			continue
		}
		if f, err := strconv.ParseFloat(*r, 64); err != nil || !(f >= 0 && f < 1e12) {
			*r, wrong = "", true
		}
	}
	return wrong
}

func sanePrice(p *offer.Price, _ *pb.Price) {
	if rates(&p.USDPerGPUHour, &p.USDPerHour, &p.USDPerCPUHour, &p.USDPerGBMonth, &p.USDPerGBOut, &p.USDPerHourAtMost) {
		p.Known = false
	}
	if rates(&p.SUPerGPUHour, &p.SUPerNodeHour, &p.SUPerCPUHour) {
		p.UnknownSU = true
	}
	atLeast(0, &p.Granularity, &p.Minimum, &p.Spare)
	atLeast(0, &p.CPUs, &p.GPUs)
	said(&p.Risen)
}

func sanePool(p *offer.Pool, _ *pb.Pool) {
	said(&p.Name, &p.Word, &p.GPUModel, &p.GPUClass, &p.SubmitBy, &p.MostBy, &p.Verified, &p.Source)
	saidEach(p.Notes)
	saidEach(p.StandsFor)
	atLeast(0, &p.Memory, &p.GPUMem)
	atLeast(0, &p.CPUs, &p.GPUs, &p.MaxNodes, &p.MinNodes, &p.Total)
	atLeast(-1, &p.Idle, &p.Others)
	atLeast(0, &p.MaxTime)
	atLeast(0, &p.Most.Devices, &p.Most.Cores)
	atLeast(0, &p.Most.Memory)
	atLeast(-1, &p.Wait)
	for i := range p.Clocks {
		said(&p.Clocks[i].What)
		atLeast(0, &p.Clocks[i].After)
	}
	for i := range p.Facts {
		f := &p.Facts[i]
		said(&f.Name, &f.Value, &f.Source, &f.Since, &f.Differs)
	}
}

func saidEach(list []string) {
	for i := range list {
		said(&list[i])
	}
}

func saneQuote(q *offer.Quote, _ *pb.Quote) {
	said(&q.Pool, &q.Why, &q.Would, &q.SubmitBy, &q.MostBy)
	atLeast(-1, &q.Wait)
	atLeast(0, &q.Boot, &q.MaxTime)
}

func saneFinding(f *providers.Finding, _ *pb.Finding) { said(&f.Summary, &f.Detail) }

func saneNote(n *providers.Note, _ *pb.Note) { said(&n.Kind, &n.Phase, &n.Text) }

func saneError(e *providers.Error, _ *pb.Error) {
	for _, s := range []*string{&e.Summary, &e.Detail, &e.Hint, &e.Login} {
		*s = term.Clean(*s)
	}
}

func saneObservation(o *offer.Observation, _ *pb.Observation) {
	said(&o.Signal, &o.Class, &o.Pool, &o.Node, &o.Driver, &o.Reason)
	saidEach(o.GPUs)
	if o.Attempt < 0 || o.Attempt > mostLaunches {
		o.Attempt = 0
	}
	if g := o.Got; g != nil && min(g.Memory, g.Disk, int64(g.CPUs), int64(g.GPUs), int64(g.Nodes), int64(g.Walltime)) < 0 {
		o.Got = nil
	}
}

func saneOutput(o *offer.Output, _ *pb.OutputFound) {
	said(&o.Verdict)
	atLeast(0, &o.Size)
	atLeast(0, &o.Files)
}

func saneFile(f *providers.FileInfo, _ *pb.FileInfo) { atLeast(0, &f.Size) }

func saneUsage(u *offer.Usage, _ *pb.Usage) {
	said(&u.Billed)
	atLeast(-1, &u.Elapsed, &u.CPU)
	atLeast(-1, &u.MaxRSS)
	if !(u.GPUSeconds >= 0 && u.GPUSeconds < time.Duration.Seconds(1<<63-1)) {
		u.GPUSeconds = -1
	}
	if u.GPUMaxMem != nil && *u.GPUMaxMem < 0 {
		u.GPUMaxMem = nil
	}
}
