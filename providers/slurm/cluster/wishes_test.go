package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// What 22.05 prints, but for the times.
const (
	saidLicenses     = "LicenseName=matlab Total=2 Used=0 Free=2 Reserved=0 Remote=no\nLicenseName=stata Total=10 Used=0 Free=10 Reserved=0 Remote=no\n"
	saidReservations = "ReservationName=course StartTime=%[1]d EndTime=%[2]d Duration=02:00:00 Nodes=cpu1 NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=amilan Flags=SPEC_NODES TRES=cpu=64 Users=alice,root Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n" +
		"ReservationName=past StartTime=1795200000 EndTime=1795200060 Duration=00:01:00 Nodes=cpu1 NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=(null) Flags= TRES=cpu=64 Users=(null) Groups=(null) Accounts=campus Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n"
)

// TestWishes: what a job's options name and the cluster has not is an error of
// the plan, with what it has.
func TestWishes(t *testing.T) {
	t.Parallel()
	reservations := parseReservations(fmt.Sprintf(saidReservations, time.Now().Unix(), time.Now().Add(2*time.Hour).Unix()))
	reservations[1].end = time.Now().Add(-time.Hour)
	s := &Facts{licenses: parseLicenses(saidLicenses), reservations: &reservations,
		Partitions: []Partition{{Name: "amilan", features: []string{"milan", "ib"}}, {Name: "aa100", features: []string{"a100", "milan"}}}}
	for name, tt := range map[string]struct {
		o          Wishes
		pool       int
		why, would string
	}{
		"nothing":                         {Wishes{}, 0, "", ""},
		"features":                        {Wishes{Constraint: "[milan*2&ib*1]"}, 0, "", ""},
		"a feature of another partition":  {Wishes{Constraint: "milan&ib"}, 1, "no node of partition aa100 has feature ib", "choose partition amilan"},
		"an unknown feature":              {Wishes{Constraint: "milna"}, 0, "no node here has feature milna; did you mean milan?", ""},
		"nothing like any feature":        {Wishes{Constraint: "(h100|milan)"}, 0, "no node here has feature h100; did you mean a100?", ""},
		"a license":                       {Wishes{Licenses: "matlab:2,stata"}, 0, "", ""},
		"too many licenses":               {Wishes{Licenses: "matlab:3"}, 0, "there are 2 licenses matlab, 3 are asked for", ""},
		"an unknown license":              {Wishes{Licenses: "comsol"}, 0, "there is no license comsol here; there are matlab, stata", ""},
		"a reservation":                   {Wishes{Reservation: "course"}, 0, "", ""},
		"a reservation that has ended":    {Wishes{Reservation: "past"}, 0, "reservation past ended " + reservations[1].end.Format("2006-01-02 15:04"), ""},
		"a reservation of elsewhere":      {Wishes{Reservation: "course"}, 1, "reservation course is of partition amilan", "choose partition amilan"},
		"a reservation that is not there": {Wishes{Reservation: "cuorse"}, 0, "there is no reservation cuorse here, it may have expired; did you mean course?", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why, would := s.Unmet("alice", offer.Shape{Walltime: time.Hour}, tt.o, &s.Partitions[tt.pool])
			if why != tt.why || would != tt.would {
				t.Errorf("%q, %q; want %q, %q", why, would, tt.why, tt.would)
			}
		})
	}
	if why, _ := s.Unmet("bob", offer.Shape{}, Wishes{Reservation: "course"}, &s.Partitions[0]); why != "reservation course is for users alice, root" {
		t.Errorf("another user: %q", why)
	}
	if why, _ := s.Unmet("alice", offer.Shape{Walltime: 3 * time.Hour}, Wishes{Reservation: "course"}, &s.Partitions[0]); why == "" {
		t.Error("a walltime beyond the reservation's end is taken")
	}
	closed := &Facts{Partitions: s.Partitions}
	if why, _ := closed.Unmet("alice", offer.Shape{}, Wishes{Reservation: "x", Licenses: "y"}, &s.Partitions[0]); why != "" {
		t.Errorf("a site that does not tell refuses: %q", why)
	}
	if why, would := (&Partition{Name: "gpu", groups: []string{"ml", "bio"}}).excluded([]string{"users"}); why != "partition gpu is for groups ml, bio only" || would != "yours are users" {
		t.Errorf("%q, %q", why, would)
	}
	if got := features("[rack1*2&rack2*4]"); !slices.Equal(got, []string{"rack1", "rack2"}) {
		t.Errorf("features are %q", got)
	}
}
