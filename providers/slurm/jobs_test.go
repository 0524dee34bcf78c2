package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
)

// TestEndsEarlier: a partition whose jobs end earlier than it tells says so, and by
// what.
func TestEndsEarlier(t *testing.T) {
	t.Parallel()
	for qos, want := range map[string]string{"normal|0|00:10:00|||||\n": "qos normal ends jobs at 10m", "normal|0|2-00:00:00|||||\n": "", "normal|0||||||\n": "account u ends jobs at 3h"} {
		k := newBench(t)
		k.f.answer = func(argv []string) *command.Result {
			switch line := strings.Join(argv, " "); {
			case strings.Contains(line, "show qos"):
				return &command.Result{Out: []byte(qos)}
			case strings.Contains(line, "show assoc"):
				return &command.Result{Out: []byte("c|u|me||normal|normal|||03:00:00||\n")}
			}
			return nil
		}
		k.restart()
		pools, err := k.s.Pools(t.Context())
		if err != nil || len(pools) != 1 || pools[0].MaxTime != 24*time.Hour || strings.Join(pools[0].Notes, "\n") != want {
			t.Errorf("%s: %+v, %v", qos, pools, err)
		}
	}
}

// TestQuoteOwnLimits: a job that names another qos is held to the limits of that
// one, of which its pool tells nothing; one that names none is held to the pool's.
func TestQuoteOwnLimits(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]offer.Limits{
		"":                  {},
		`{"qos": "normal"}`: {},
		`{"qos": "small"}`:  {MaxTime: 10 * time.Minute, MaxJobs: 1, MaxSubmit: 2, SubmitBy: "qos small"},
		`{"qos": "free"}`:   {MaxJobs: offer.NoLimit, MaxSubmit: offer.NoLimit},
	} {
		k := newBench(t)
		k.f.answer = func(argv []string) *command.Result {
			switch line := strings.Join(argv, " "); {
			case strings.Contains(line, "show qos"):
				return &command.Result{Out: []byte("normal|0|||4|20|||\nsmall|0|00:10:00||1|2|||\nfree|0|||||||\n")}
			case strings.Contains(line, "show assoc"):
				return &command.Result{Out: []byte("c|u|me||normal,small,free|normal|||||\n")}
			}
			return nil
		}
		k.restart()
		pools, err := k.s.Pools(t.Context())
		if err != nil || len(pools) != 1 || pools[0].MaxJobs != 4 || pools[0].MaxSubmit != 20 || pools[0].SubmitBy != "qos normal" {
			t.Fatalf("%+v, %v", pools, err)
		}
		q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: 5 * time.Minute, Options: options})["amilan"]
		if got := (offer.Limits{MaxTime: q.MaxTime, MaxJobs: q.MaxJobs, MaxSubmit: q.MaxSubmit, SubmitBy: q.SubmitBy}); !q.Fits || got != want {
			t.Errorf("%s: %+v, want %+v: %+v", options, got, want, q)
		}
	}
}

// TestTogether: limits on what jobs hold together, of a user, an account or a qos, bound what
// runs at once on a partition; a job of another qos is held to those of that one.
func TestTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		qos, account string // from MaxTRESPU on; see qosFields
		ask          string
		most, own    offer.Room
		running      int
		by           string
	}{
		"none":                         {qos: "normal|0||||||||||||", account: "c|u|me||normal,small|normal"},
		"of a user":                    {qos: "normal|0||cpu=8,gres/gpu=2||||||||||", account: "c|u|me||normal,small|normal", most: offer.Room{Cores: 8, Devices: 2}, by: "qos normal"},
		"of all":                       {qos: "normal|0||cpu=80|||cpu=64,mem=10G||||||", account: "c|u|me||normal,small|normal", most: offer.Room{Cores: 64, Memory: 10 << 30}, by: "qos normal"},
		"of the account":               {qos: "normal|0||cpu=80||||||||||", account: "c|u|me||normal,small|normal||||cpu=32", most: offer.Room{Cores: 32}, by: "account u"},
		"the qos's before the account": {qos: "normal|0|||||cpu=64||||||", account: "c|u|me||normal,small|normal||||cpu=32", most: offer.Room{Cores: 64}, by: "qos normal"},
		"one job's is not":             {qos: "normal|0|||||||||cpu=4||", account: "c|u|me||normal,small|normal"},
		"jobs of the account":          {qos: "normal|0||||||||||||", account: "c|u|me||normal,small|normal|7", running: 7},
		"another qos": {qos: "normal|0||cpu=8||||||||||\nsmall|0||cpu=2||||||||||", account: "c|u|me||normal,small|normal", ask: `{"qos": "small"}`,
			most: offer.Room{Cores: 8}, own: offer.Room{Cores: 2}, by: "qos normal"},
		"another qos without": {qos: "normal|0||cpu=8||||||||||\nsmall|0||||||||||||", account: "c|u|me||normal,small|normal", ask: `{"qos": "small"}`,
			most: offer.Room{Cores: 8}, own: offer.Room{Cores: offer.NoLimit}, by: "qos normal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				switch line := strings.Join(argv, " "); {
				case strings.Contains(line, "show qos"):
					return &command.Result{Out: []byte(c.qos + "\n")}
				case strings.Contains(line, "show assoc"):
					return &command.Result{Out: []byte(c.account + strings.Repeat("|", 13-strings.Count(c.account, "|")) + "\n")}
				}
				return nil
			}
			k.restart()
			pools, err := k.s.Pools(t.Context())
			if err != nil || len(pools) != 1 || pools[0].Most != c.most || pools[0].MostBy != c.by || pools[0].MaxJobs != c.running {
				t.Fatalf("%+v by %q, %d jobs, %v", pools[0].Most, pools[0].MostBy, pools[0].MaxJobs, err)
			}
			q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: 5 * time.Minute, Options: c.ask})["amilan"]
			if !q.Fits || q.Most != c.own {
				t.Errorf("%+v for its own qos, not %+v: %s", q.Most, c.own, q.Why)
			}
		})
	}
}

// TestQuoteOfLicensedJobs: jobs run beside one another as the licenses that nobody
// else holds let them, whatever the qos does.
func TestQuoteOfLicensedJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		free, running, ask string
		want               int
	}{
		"one in all, none asked for": {"Free=0", "", "", 0},
		"all free":                   {"Free=3", "", "matlab", 3},
		"two a job":                  {"Free=3", "", "matlab:2", 1},
		"strangers have two":         {"Free=1", "", "matlab", 1},
		"ours are no strangers":      {"Free=1", "matlab:1\n(null)\nstata:1\nmatlab:1\n", "matlab", 3},
		"strangers have all":         {"Free=0", "", "matlab", 1},
		"more than the qos runs":     {"Free=3 ", "", "stata", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				switch line := strings.Join(argv, " "); {
				case strings.Contains(line, "show licenses"):
					return &command.Result{Out: []byte("LicenseName=matlab Total=3 Used=0 " + c.free + "\nLicenseName=stata Total=90 Used=0 Free=80\n")}
				case argv[0] == "squeue":
					return &command.Result{Out: []byte(c.running)}
				case strings.Contains(line, "show qos"):
					return &command.Result{Out: []byte("normal|0|||40||||\n")}
				case strings.Contains(line, "show assoc"):
					return &command.Result{Out: []byte("c|u|me||normal|normal|||||\n")}
				}
				return nil
			}
			k.restart()
			if q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour, Options: `{"licenses": "` + c.ask + `"}`})["amilan"]; !q.Fits || q.MaxJobs != c.want {
				t.Errorf("%d at once, not %d: %+v", q.MaxJobs, c.want, q)
			}
		})
	}
}

// TestShut: a partition that is closed to the user says so, and not that another
// shape would do there.
func TestShut(t *testing.T) {
	t.Parallel()
	for accounts, shut := range map[string]bool{"AllowAccounts=ucb,cub": true, "AllowAccounts=u": false, "AllowAccounts=ALL": false} {
		k := newBench(t)
		k.f.answer = func(argv []string) *command.Result {
			switch line := strings.Join(argv, " "); {
			case strings.Contains(line, "show partition"):
				return &command.Result{Out: []byte("PartitionName=amilan " + accounts + " MaxTime=1-00:00:00 MaxNodes=1 TotalNodes=2 State=UP Default=YES\n")}
			case strings.Contains(line, "show qos"):
				return &command.Result{Out: []byte("normal|0|||||||\n")}
			case strings.Contains(line, "show assoc"):
				return &command.Result{Out: []byte("c|u|me||normal|normal|||||\n")}
			case strings.Contains(line, "show user"):
				return &command.Result{Out: []byte("u\n")}
			}
			return nil
		}
		k.restart()
		q := k.quotes(offer.Shape{CPUs: 2, Nodes: 2, Walltime: time.Hour})["amilan"]
		if q.Fits || q.Shut != shut || strings.Contains(q.Why, "is for accounts ucb, cub, not u") != shut {
			t.Errorf("%s: %+v", accounts, q)
		}
	}
}
