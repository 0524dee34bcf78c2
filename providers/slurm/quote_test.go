package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
)

// TestQuoteTooLong: of a shape that is only too long for the partition, the qos
// or the account it is said how long it might be; of one that something else
// keeps out, too, it is not.
func TestQuoteTooLong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		qos, assoc string
		shape      offer.Shape
		want       time.Duration
		why        string
	}{
		"fits":             {"normal|0|||||||\n", "c|u|me||normal|normal|||||\n", offer.Shape{Walltime: 20 * time.Hour}, 0, ""},
		"of the partition": {"normal|0|||||||\n", "c|u|me||normal|normal|||||\n", offer.Shape{Walltime: 30 * time.Hour}, 24 * time.Hour, "partition amilan ends jobs at 24h"},
		"of the qos":       {"normal|0|06:00:00||||||\n", "c|u|me||normal|normal|||||\n", offer.Shape{Walltime: 30 * time.Hour}, 6 * time.Hour, "ends jobs at"},
		"of the account":   {"normal|0|||||||\n", "c|u|me||normal|normal|||03:00:00||\n", offer.Shape{Walltime: 20 * time.Hour}, 3 * time.Hour, "account u ends jobs at 3h"},
		"has no GPUs, too": {"normal|0|06:00:00||||||\n", "c|u|me||normal|normal|||||\n", offer.Shape{Walltime: 30 * time.Hour, GPUs: 1}, 0, "ends jobs at"},
		"not this qos":     {"other|0|||||||\n", "c|u|me||other|other|||||\n", offer.Shape{Walltime: 30 * time.Hour, Options: `{"qos": "secret"}`}, 0, "there is no qos secret here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				switch line := strings.Join(argv, " "); {
				case strings.Contains(line, "show qos"):
					return &command.Result{Out: []byte(tt.qos)}
				case strings.Contains(line, "show assoc"):
					return &command.Result{Out: []byte(tt.assoc)}
				}
				return nil
			}
			k.restart()
			tt.shape.CPUs, tt.shape.Nodes = 1, 1
			got, err := k.s.Quote(t.Context(), []offer.Shape{tt.shape})
			if err != nil || len(got) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			if q := got[0]; q.MaxTime != tt.want || q.Fits != (tt.why == "") || !strings.Contains(q.Why, tt.why) {
				t.Errorf("%+v", q)
			}
		})
	}
}
