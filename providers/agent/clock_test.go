package agent

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol"
)

// A timed provider has seen one job and has one file.
type timed struct {
	providers.Provider
	started, ended time.Time
}

func (p timed) obs() []offer.Observation {
	return []offer.Observation{{Token: "t", Presence: offer.Found, Status: offer.Completed, Started: p.started, Ended: p.ended,
		Outputs: []offer.Output{{Name: "o", MTime: p.ended.UnixNano()}}}}
}

func (p timed) Find(context.Context, string, []string) ([]offer.Observation, error) {
	return p.obs(), nil
}

func (p timed) Watch(_ context.Context, _ providers.WatchRequest, fn func(providers.Batch) error) error {
	return fn(providers.Batch{Events: p.obs()})
}

func (p timed) List(context.Context, string, []string) ([]providers.FileInfo, error) {
	return []providers.FileInfo{{Path: "/o", MTime: p.ended.UnixNano()}}, nil
}

// TestAnotherClock: whatever a host's clock shows, and however it is set while
// the agent is open, its jobs began and ended when they did by this machine's.
func TestAnotherClock(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct{ ahead, set time.Duration }{
		"right":                    {0, 0},
		"behind":                   {-3 * day, 0},
		"ahead":                    {3 * day, 0},
		"never set":                {-56 * 365 * day, 0},
		"set right":                {-56 * 365 * day, 56 * 365 * day},
		"set back":                 {0, -2 * day},
		"ahead, and set on, again": {3 * day, day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now().Round(0)
			there := now.Add(c.ahead + c.set) // when the job is reported
			p := timed{started: there.Add(-time.Hour), ended: there.Add(-time.Minute)}
			s := newSteadyClock(p)
			s.at = s.at.Add(-c.set)
			near, far := net.Pipe()
			defer far.Close()
			go func() {
				_, _ = io.WriteString(far, firstLine(now.Add(c.ahead), "here")+"\n")
				_ = protocol.ServeStream(context.Background(), far, s)
			}()
			client, err := Connect(t.Context(), near)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			check := func(what string, obs []offer.Observation, err error) {
				t.Helper()
				if err != nil || len(obs) != 1 {
					t.Fatalf("%s: %v, %v", what, obs, err)
				}
				o := obs[0]
				if off := o.Started.Sub(now.Add(-time.Hour)); off.Abs() > time.Minute {
					t.Errorf("%s: it began %v off", what, off)
				}
				if ran := o.Ended.Sub(o.Started); ran != 59*time.Minute {
					t.Errorf("%s: it ran %v, want 59m", what, ran)
				}
				if !o.Expected.IsZero() {
					t.Errorf("%s: a time that is not known is told as %v", what, o.Expected)
				}
				if o.Outputs[0].MTime != p.ended.UnixNano() {
					t.Errorf("%s: the time by which an output is known again has changed", what)
				}
			}
			obs, err := client.Find(t.Context(), "b", []string{"t"})
			check("find", obs, err)
			_ = client.Watch(t.Context(), providers.WatchRequest{Backend: "b"}, func(b providers.Batch) error {
				check("watch", b.Events, nil)
				return nil
			})
			files, err := client.List(t.Context(), "b", []string{"/o"})
			if err != nil || len(files) != 1 {
				t.Fatalf("list: %v, %v", files, err)
			}
			if off := time.Unix(0, files[0].MTime).Sub(now.Add(-time.Minute)); off.Abs() > time.Minute {
				t.Errorf("list: the file was written %v off", off)
			}
		})
	}
}
