package glance

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-run/muster/state"
)

var of = Snapshot{Size: 1 << 40, Sum: 0xfedcba98, Seal: `"digest":"sha256:…"}` + "\n"}

// done is a state in which n jobs ended well, each fed by another and billed,
// beside a smoke.
func done(n int) *state.State {
	s := state.New("c")
	s.Lineage, s.Serial, s.Seq, s.Fence = "5e1f", 3, 77, 2
	s.Definitions = map[string]jsonText{"sha256:d": jsonText(`{}`)}
	s.Validations = map[string]state.Validation{"f": {Fingerprint: "f", Passed: true}}
	for i := range n {
		j := &state.Job{
			Address: fmt.Sprintf(`phase.p["i=%d"]`, i), Phase: "p", Scheme: 1, Result: fmt.Sprintf("%032x", i), Request: "r", Status: state.Completed,
			InputBytes: state.TextsOf(map[string]string{"in": fmt.Sprintf("sha256:%d", i/2)}), Attempts: []state.Attempt{{N: 1 + i%3, Token: "t", Ended: time.Unix(1, 0)}},
			Outputs: []state.Output{{Name: "x", Backend: "local.local", Workdir: "/w", Path: fmt.Sprint("out/", i), Size: int64(i), MTime: -int64(i) << 40, Inode: 1<<63 + uint64(i), Digest: fmt.Sprint("sha256:", i)}},
		}
		s.Jobs[j.Key()] = j
		s.Ledger = append(s.Ledger, state.Entry{Address: j.Address, Phase: "p", Backend: "local.local", Spent: state.TextsOf(state.Amounts{"cpu_hours": "0.1"})})
	}
	smoke := &state.Job{Address: `phase.p["i=0"]`, Phase: "p", Smoke: true, Status: state.Failed, Result: "f", Outputs: []state.Output{{Name: "x", Path: "smoke"}}}
	s.Jobs[smoke.Key()] = smoke
	return s
}

type jsonText = json.RawMessage

// stoppedToo is done(n) with three jobs more that stopped, and what keeps them so.
func stoppedToo(n int) *state.State {
	s := done(n)
	exit := 3
	for i, status := range []state.Status{state.Failed, state.Held, state.Cancelled} {
		j := &state.Job{
			Address: fmt.Sprintf(`phase.p["i=%d"]`, n+i), Phase: "p", Axes: state.TextsOf(map[string]string{"i": fmt.Sprint(n + i)}), Scheme: 1, Result: fmt.Sprintf("%032x", n+i), Request: "r", Definition: "sha256:d",
			Status: status, Class: "unknown", Reason: "looked odd", By: "ada", Updated: time.Unix(2, 0).UTC(), InputBytes: state.TextsOf(map[string]string{"in": "sha256:0"}),
			Attempts: []state.Attempt{{N: 1, Token: "t1", Ended: time.Unix(1, 0).UTC(), Exit: &exit, Tail: []string{"it said <no> & \"why\""}}, {N: 2, Token: "t2", Ended: time.Unix(2, 0).UTC(), Signal: "KILL"}},
			Outputs:  []state.Output{{Name: "x", Backend: "local.local", Workdir: "relative", Path: "half", Missing: true}},
		}
		s.Jobs[j.Key()] = j
	}
	s.Holds = []state.Hold{{Who: "ada", Reason: "waits for data", At: time.Unix(3, 0).UTC()}}
	s.Breakers = map[string]state.Breaker{"p": {Phase: "p", Cause: "unknown", Count: 3, At: time.Unix(4, 0).UTC()}}
	return s
}

// thin is a glance's part of a job: all of one that stopped.
func thin(j *state.Job) state.Job {
	if stopped(j) {
		return *j
	}
	t := state.Job{Address: j.Address, Phase: j.Phase, Smoke: j.Smoke, Scheme: j.Scheme, Result: j.Result, Accepted: j.Accepted, Status: j.Status, InputBytes: j.InputBytes}
	if !j.Smoke {
		t.Outputs = j.Outputs
	}
	return t
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range []*state.State{done(1), done(2), done(perPart), done(2*perPart + 1), stoppedToo(0), stoppedToo(perPart + 1)} {
		n := 0
		for _, j := range s.Jobs {
			if j.Status == state.Completed {
				n++
			}
		}
		data, err := Encode(s, of)
		if err != nil || data == nil {
			t.Fatalf("%d jobs: %d bytes, %v", n, len(data), err)
		}
		g, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Fill(); err != nil {
			t.Fatal(err)
		}
		got, at := g.State, g.Of
		if at != of || got.Seq != s.Seq || got.Lineage != s.Lineage || len(got.Validations) != 1 {
			t.Fatalf("%d jobs: %+v of %+v", n, got, at)
		}
		var outputs []state.Output
		for part := range g.Parts() {
			if err := g.Outputs(part, func(o *state.Output) bool { outputs = append(outputs, *o); return true }); err != nil {
				t.Fatal(err)
			}
		}
		var keys []string
		var filled []state.Output
		for key, j := range got.All() {
			keys = append(keys, key)
			if !stopped(j) {
				filled = append(filled, j.Outputs...)
			}
			if diff := cmp.Diff(thin(s.Jobs[key]), *j, cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
		}
		g.Number()
		for key, j := range got.All() {
			if was := s.Jobs[key].Last(); was == nil && j.Last() != nil || was != nil && (j.Last() == nil || j.Last().N != was.N) {
				t.Fatalf("%s: attempt %+v, want %+v", key, j.Last(), was)
			}
		}
		if len(outputs) != n || !cmp.Equal(outputs, filled) {
			t.Errorf("%d jobs: %d outputs one by one, %d of all jobs", n, len(outputs), len(filled))
		}
		if !cmp.Equal(got.Holds, s.Holds) || !cmp.Equal(got.Breakers, s.Breakers) {
			t.Errorf("%d jobs: holds %v, breakers %v", n, got.Holds, got.Breakers)
		}
		slices.Sort(keys) // those that stopped come last
		if want := s.Addresses(); !slices.Equal(keys, want) {
			t.Errorf("%d jobs: keys differ: %d, want %d", n, len(keys), len(want))
		}
		sum, _ := s.Spent(nil)
		if got, unknown := got.Spent(nil); unknown != 0 || got["cpu_hours"] != sum["cpu_hours"] || len(s.Ledger) > 1 && len(got) != 1 {
			t.Errorf("%d jobs: spent %v, %d unknown; want %v", n, got, unknown, sum)
		}
	}
}

// TestEveryByte: what was changed anywhere, or cut off, is no glance.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	data, err := Encode(stoppedToo(1), of)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if _, err := Read(data[:i]); err == nil {
			t.Errorf("cut off at byte %d of %d", i, len(data))
		}
		for flip := 1; flip < 256; flip++ {
			bad := slices.Clone(data)
			bad[i] ^= byte(flip)
			if _, err := Read(bad); err == nil {
				t.Errorf("byte %d of %d changed from %#x to %#x", i, len(data), data[i], bad[i])
			}
		}
	}
}

// TestOnlyOfWhatIsOver: of a state with more to say there is no glance.
func TestOnlyOfWhatIsOver(t *testing.T) {
	t.Parallel()
	job := func(change func(*state.Job)) func(*state.State) {
		return func(s *state.State) { change(s.Jobs[`phase.p["i=1"]`]) }
	}
	for name, change := range map[string]func(*state.State){
		"a job that runs":       job(func(j *state.Job) { j.Status = state.Running }),
		"a job held under way":  job(func(j *state.Job) { j.Status, j.Attempts = state.Held, []state.Attempt{{N: 1, Token: "t"}} }),
		"a job to be retried":   job(func(j *state.Job) { j.Status = state.Waiting }),
		"too many that failed":  func(s *state.State) { fail(s, mostStopped+1) },
		"a job forgotten":       job(func(j *state.Job) { j.Status = state.Forgotten }),
		"an output is missing":  job(func(j *state.Job) { j.Outputs[0].Missing = true }),
		"an output is copied":   job(func(j *state.Job) { j.Outputs[0].Copies = []state.Copy{{Backend: "b"}} }),
		"an output of files":    job(func(j *state.Job) { j.Outputs[0].Files = 2 }),
		"an output without dir": job(func(j *state.Job) { j.Outputs[0].Workdir = "" }),
		"a smoke that runs":     func(s *state.State) { s.Jobs[`smoke.phase.p["i=0"]`].Status = state.Running },
		"a bill not known":      func(s *state.State) { s.Ledger[0].Unknown = true },
		"an amount of nonsense": func(s *state.State) { s.Ledger[0].Spent = state.TextsOf(state.Amounts{"usd": "x"}) },
		"a rental":              func(s *state.State) { s.Rentals = map[string]state.Rental{"r": {}} },
		"no job":                func(s *state.State) { clear(s.Jobs) },
	} {
		s := done(3)
		change(s)
		if data, err := Encode(s, of); data != nil || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

// fail adds n jobs that failed.
func fail(s *state.State, n int) {
	for i := range n {
		j := &state.Job{Address: fmt.Sprintf(`phase.q["i=%d"]`, i), Phase: "q", Status: state.Failed}
		s.Jobs[j.Key()] = j
	}
}

// TestAFewThatFailed: as many as are meant by it are in a glance.
func TestAFewThatFailed(t *testing.T) {
	t.Parallel()
	s := done(3)
	fail(s, mostStopped)
	if data, err := Encode(s, of); data == nil || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func BenchmarkDecode100k(b *testing.B) {
	data, err := Encode(done(100_000), of)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		g, err := Read(data)
		if err == nil {
			err = g.Fill()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
