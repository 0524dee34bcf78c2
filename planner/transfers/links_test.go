package transfers

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestLinks: large files tell what a link carries, small ones what each takes
// besides, and neither stands in for the other.
func TestLinks(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	type copied struct {
		size     int64
		from, to float64 // seconds
	}
	for name, c := range map[string]struct {
		seen  []copied
		bytes int64
		each  time.Duration
		how   string
	}{
		"nothing was moved":       {nil, AssumedBandwidth, 0, "as assumed: none was measured"},
		"one after another":       {[]copied{{100 << 20, 0, 10}, {100 << 20, 10, 20}}, 10 << 20, 0, "as measured"},
		"beside one another":      {[]copied{{100 << 20, 0, 10}, {100 << 20, 0, 10}}, 20 << 20, 0, "as measured"},
		"with a pause":            {[]copied{{100 << 20, 0, 10}, {100 << 20, 90, 100}}, 10 << 20, 0, "as measured"},
		"small ones, a second":    {[]copied{{100, 0, 1}, {3, 1, 2}}, AssumedBandwidth, time.Second, "as assumed: none was measured"},
		"small ones, four lanes":  {[]copied{{100, 0, 1}, {3, 0, 1}, {3, 0, 1}, {3, 0, 1}}, AssumedBandwidth, time.Second / 4, "as assumed: none was measured"},
		"both":                    {[]copied{{100, 0, 1}, {100 << 20, 1, 11}}, 10 << 20, time.Second, "as measured"},
		"it was there":            {[]copied{{100 << 20, 5, 5}}, AssumedBandwidth, 0, "as assumed: none was measured"},
		"a clock that went back":  {[]copied{{100 << 20, 10, 20}, {100 << 20, 12, 18}}, 20 << 20, 0, "as measured"},
		"slower than a byte each": {[]copied{{1 << 20, 0, 1 << 21}}, 1, 0, "as measured"},
	} {
		st := &state.State{Jobs: map[string]*state.Job{}}
		for i, f := range c.seen {
			at := began.Add(time.Duration(f.to * float64(time.Second)))
			st.Jobs[string(rune('a'+i))] = &state.Job{Outputs: []state.Output{{Backend: "local.local", Size: f.size, Copies: []state.Copy{{Backend: "ssh.lab/h", At: at, Seconds: f.to - f.from}}}}}
		}
		l := LinkOf(&lang.Backend{Type: "ssh", Name: "lab"}, st)
		if l.Bytes != c.bytes || l.Each != c.each || l.How != c.how {
			t.Errorf("%s: %+v, want %d, %s, %s", name, l, c.bytes, c.each, c.how)
		}
		if other := LinkOf(&lang.Backend{Type: "slurm", Name: "x"}, st); other.Bytes != AssumedBandwidth || other.Each != 0 {
			t.Errorf("%s: a link that carried nothing is %+v", name, other)
		}
	}
}

// TestLoad: each way is one transfer however many inputs read what goes it, and what
// is counted of it is told.
func TestLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(phases map[string]*Phase)
		want string // transfers and what plans say of them
	}{
		"two that read the same": {func(phases map[string]*Phase) { phases["a"].done("slurm.x") },
			"a.o to ssh.lab 0,1,2 1µs: a.o to ssh.lab: 3 outputs of 10B, at 10MiB a second (slurm.x, as assumed: none was measured)"},
		"as large as those before": {func(phases map[string]*Phase) {
			phases["a"].done("slurm.x")
			phases["a"].Records[1].Status, phases["a"].Records[1].Outputs = state.Running, nil
		}, "a.o to ssh.lab 0,1,2 1µs: a.o to ssh.lab: 3 outputs of 10B as seen, at 10MiB a second (slurm.x, as assumed: none was measured)"},
		"the least they may be": {func(phases map[string]*Phase) {
			phases["a"].goes("slurm.x")
			phases["a"].Outputs[0].MinSize = 100 << 20
		}, "a.o to ssh.lab 0,1,2 10s: a.o to ssh.lab: 3 outputs of at least 100MiB, at 10MiB a second (slurm.x, as assumed: none was measured)"},
		"nobody knows how large": {func(phases map[string]*Phase) { phases["a"].goes("slurm.x") },
			"a.o to ssh.lab 0,1,2 0s: 3 outputs that move between backends count as there at once: their size, or the speed of the link, is not known"},
		"nothing moves": {func(phases map[string]*Phase) { phases["a"].goes("ssh.lab") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			phases := fed(t)
			phases["b"].goes("ssh.lab")
			phases["c"].goes("ssh.lab")
			c.edit(phases)
			carrier := &Carrier{Filesystems: NewFilesystems([]offer.Pool{{Backend: "ssh.lab"}, {Backend: "slurm.x"}}, nil), State: &state.State{}, Backends: []*lang.Backend{{Type: "ssh", Name: "lab"}, {Type: "slurm", Name: "x"}},
				Phase: func(name string) *Phase { return phases[name] }}
			in := forecast.Input{}
			var rows []Transfer
			for _, p := range []string{"a", "b", "c"} {
				in.Phases = append(in.Phases, forecast.NewPhase(phases[p].Phase))
				for _, i := range phases[p].Inputs {
					rows = append(rows, Of(carrier.Filesystems, phases[p], phases["a"], i)...)
				}
			}
			carrier.Load(&in, rows)
			var got []string
			for _, h := range in.Transfers {
				var cells []string
				for _, cell := range h.Cells {
					cells = append(cells, string(rune('0'+cell)))
				}
				got = append(got, h.Name+" "+strings.Join(cells, ",")+" "+h.Each.Round(time.Microsecond).String()+": "+h.Basis)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			for _, p := range in.Phases[1:] {
				if waits := len(p.Legs[0]) == 1 && p.Legs[0][0].Reads(place.Decision{Backend: "ssh.lab"}) && !p.Legs[0][0].Reads(place.Decision{Backend: "slurm.x"}); waits != (c.want != "") {
					t.Errorf("phase %s has the legs %+v", p.Name, p.Legs)
				}
			}
		})
	}
}

func TestCountedFree(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "1 output that moves between backends counts as there at once: its size, or the speed of the link, is not known",
		2: "2 outputs that move between backends count as there at once: their size, or the speed of the link, is not known",
	} {
		if got := countedFree(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
