package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// What 22.05 prints, but for the times.
const (
	saidLicenses     = "LicenseName=matlab Total=2 Used=0 Free=2 Reserved=0 Remote=no\nLicenseName=stata Total=10 Used=0 Free=10 Reserved=0 Remote=no\n"
	saidReservations = "ReservationName=course StartTime=%[1]d EndTime=%[2]d Duration=02:00:00 Nodes=cpu1 NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=amilan Flags=SPEC_NODES TRES=cpu=64 Users=alice,root Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n" +
		"ReservationName=past StartTime=1795200000 EndTime=1795200060 Duration=00:01:00 Nodes=cpu1 NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=(null) Flags= TRES=cpu=64 Users=(null) Groups=(null) Accounts=campus Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n"
)

// TestRequirements: what a job's options name and the cluster has not is an error of
// the plan, with what it has.
func TestRequirements(t *testing.T) {
	t.Parallel()
	reservations := parseReservations(fmt.Sprintf(saidReservations, time.Now().Unix(), time.Now().Add(2*time.Hour).Unix()))
	reservations[1].end = time.Now().Add(-time.Hour)
	s := &Facts{licenses: parseLicenses(saidLicenses), reservations: &reservations,
		Partitions: []Partition{{Name: "amilan", features: []string{"milan", "ib"}}, {Name: "aa100", features: []string{"a100", "milan"}}}}
	ask := func(s *Facts, me string, shape offer.Shape, o Requirements, pool int) (why, would string) {
		if why, would = s.Unmet(me, "", shape, o); why == "" {
			why, would = s.UnmetOn(&s.Partitions[pool], o)
		}
		return why, would
	}
	for name, tt := range map[string]struct {
		o          Requirements
		pool       int
		why, would string
	}{
		"nothing":                           {Requirements{}, 0, "", ""},
		"features":                          {Requirements{Constraint: "[milan*2&ib*1]"}, 0, "", ""},
		"a feature of another partition":    {Requirements{Constraint: "milan&ib"}, 1, "no node of partition aa100 has feature ib", "choose partition amilan"},
		"an unknown feature":                {Requirements{Constraint: "milna"}, 0, "no node here has feature milna; did you mean milan?", ""},
		"nothing like any feature":          {Requirements{Constraint: "(h100|milan)"}, 0, "no node here has feature h100; did you mean a100?", ""},
		"a license":                         {Requirements{Licenses: "matlab:2,stata"}, 0, "", ""},
		"too many licenses":                 {Requirements{Licenses: "matlab:3"}, 0, "there are 2 licenses matlab, but the job requests 3", `ask for at most licenses = "matlab:2"`},
		"a choice of features":              {Requirements{Constraint: "a100|ib"}, 0, "", ""},
		"another choice of features":        {Requirements{Constraint: "a100|ib"}, 1, "", ""},
		"a choice in parentheses":           {Requirements{Constraint: "[a100|ib]"}, 1, "", ""},
		"a choice of none of them":          {Requirements{Constraint: "a100|a100&milan"}, 0, "no node of partition amilan has feature a100", "choose partition aa100"},
		"a choice of what belongs together": {Requirements{Constraint: "a100&ib|ib&milan"}, 1, "no node of partition aa100 has feature ib", "choose partition amilan"},
		"an unknown license":                {Requirements{Licenses: "comsol"}, 0, "there is no license comsol here; there are matlab, stata", ""},
		"a reservation":                     {Requirements{Reservation: "course"}, 0, "", ""},
		"a reservation that has ended":      {Requirements{Reservation: "past"}, 0, "reservation past ended " + units.FormatTime(reservations[1].end), ""},
		"a reservation of elsewhere":        {Requirements{Reservation: "course"}, 1, "reservation course belongs to partition amilan", "choose partition amilan"},
		"a reservation that is not there":   {Requirements{Reservation: "cuorse"}, 0, "there is no reservation cuorse here, it may have expired; did you mean course?", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why, would := ask(s, "alice", offer.Shape{Walltime: time.Hour}, tt.o, tt.pool)
			if why != tt.why || would != tt.would {
				t.Errorf("%q, %q; want %q, %q", why, would, tt.why, tt.would)
			}
		})
	}
	if why, _ := ask(s, "bob", offer.Shape{}, Requirements{Reservation: "course"}, 0); why != "reservation course is for users alice, root" {
		t.Errorf("another user: %q", why)
	}
	if why, would := ask(s, "alice", offer.Shape{Walltime: 3 * time.Hour}, Requirements{Reservation: "course"}, 0); !strings.Contains(why, "the walltime is 3h") || !strings.Contains(would, "at most") {
		t.Errorf("a walltime beyond the reservation's end: %q, %q", why, would)
	}
	if why, would := ask(s, "alice", offer.Shape{Nodes: 3}, Requirements{Reservation: "course"}, 0); why != "reservation course has 1 node, but the job requests 3" || would != "ask for at most nodes = 1" {
		t.Errorf("more nodes than the reservation has: %q, %q", why, would)
	}
	closed := &Facts{Partitions: s.Partitions}
	if why, _ := ask(closed, "alice", offer.Shape{}, Requirements{Reservation: "x", Licenses: "y"}, 0); why != "" {
		t.Errorf("a site that does not tell refuses: %q", why)
	}
	if why, would := (&Partition{Name: "gpu", groups: []string{"ml", "bio"}}).excluded([]string{"users"}); why != "partition gpu is for groups ml, bio only" || would != "yours are users" {
		t.Errorf("%q, %q", why, would)
	}
	if got := features("[rack1*2&rack2*4]"); !slices.Equal(got, []string{"rack1", "rack2"}) {
		t.Errorf("features are %q", got)
	}
}

// TestWhoseReservation: one is for whom it names, or whose account.
func TestWhoseReservation(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		users, accounts, groups string
		account                 string
		accountsOfMine          []string
		want                    string
	}{
		"everybody":             {},
		"me":                    {users: "bob,alice"},
		"another":               {users: "bob", want: "is for users bob"},
		"my account":            {accounts: "peak", accountsOfMine: []string{"campus", "peak"}},
		"my other account":      {accounts: "peak", account: "campus", accountsOfMine: []string{"campus", "peak"}, want: "is for accounts peak"},
		"others' account":       {accounts: "theirs", accountsOfMine: []string{"campus"}, want: "is for accounts theirs"},
		"accounts not told":     {accounts: "theirs"},
		"either of both":        {users: "bob", accounts: "peak", accountsOfMine: []string{"peak"}},
		"neither of both":       {users: "bob", accounts: "theirs", accountsOfMine: []string{"peak"}, want: "is for users bob and accounts theirs"},
		"all but some users":    {users: "-bob"},
		"all but some accounts": {users: "bob", accounts: "-theirs", accountsOfMine: []string{"peak"}},
		"a group":               {users: "bob", groups: "ml"},
	} {
		r := reservation{name: "r", users: nameList(tt.users), accounts: nameList(tt.accounts), groups: nameList(tt.groups)}
		if got := r.others("alice", tt.account, tt.accountsOfMine); strings.TrimPrefix(got, "reservation r ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestReservationToCome: jobs wait for it, and must end within it.
func TestReservationToCome(t *testing.T) {
	t.Parallel()
	begins := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	list := parseReservations(fmt.Sprintf(saidReservations, begins.Unix(), begins.Add(2*time.Hour).Unix()))
	s := &Facts{reservations: &list, Partitions: []Partition{{Name: "amilan"}}}
	if got := s.Opens("course"); !got.Equal(begins) {
		t.Errorf("it opens %v, not %v", got, begins)
	}
	if why, _ := s.Unmet("alice", "", offer.Shape{Walltime: 2 * time.Hour}, Requirements{Reservation: "course"}); why != "" {
		t.Errorf("as long as it lasts: %s", why)
	}
	if why, would := s.Unmet("alice", "", offer.Shape{Walltime: 3 * time.Hour}, Requirements{Reservation: "course"}); why != "reservation course lasts 2h, the walltime is 3h" || would != `walltime = "2h" at most` {
		t.Errorf("longer than it lasts: %q, %q", why, would)
	}
	list[0].flexible = true
	if why, _ := s.Unmet("alice", "", offer.Shape{Walltime: 30 * time.Hour, Nodes: 9}, Requirements{Reservation: "course"}); why != "" || !s.Opens("course").IsZero() {
		t.Errorf("jobs of a flexible one may run beyond it: %s", why)
	}
	if (*Facts)(nil).Opens("x").IsZero() == false || !s.Opens("past").IsZero() {
		t.Error("one that is not told, or is over, is to come")
	}
}
