package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	list := parsePartitions(string(recorded(t, "scontrol-partitions.out")))
	if len(list) != 4 || list[0].Name != "amilan" || list[0].MaxTime != 168*time.Hour || !list[0].IsDefault || list[1].MaxTime != time.Hour ||
		!slices.Equal(list[1].allowQoS, []string{"testing", "normal"}) || list[2].Nodes != 2 {
		t.Errorf("partitions are %+v", list)
	}
	qos := parseQoS(string(recorded(t, "sacctmgr-qos.out")))
	if len(qos) != 4 || qos[2].name != "testing" || qos[2].maxWall != time.Hour || qos[2].maxSubmit != 5 || qos[2].jobsOfUser != 2 ||
		qos[2].perUser != (amounts{-1, -1, 3, -1}) || qos[2].perJob != unlimited || qos[2].none {
		t.Errorf("qos are %+v", qos)
	}
	assoc := parseAssoc(string(recorded(t, "sacctmgr-assoc.out")))
	if len(assoc) != 3 || assoc[0].Account != "campus" || assoc[0].defaultQoS != "normal" || !slices.Contains(assoc[0].qos, "long") {
		t.Errorf("associations are %+v", assoc)
	}
	if got := requeueExits(parseConfig(string(recorded(t, "config.out")))); !slices.Equal(got, []int{99, 98}) {
		t.Errorf("statuses that requeue are %v", got)
	}
	if n := maxArray(parseConfig(string(recorded(t, "config.out")))); n != 20000 {
		t.Errorf("MaxArraySize is %d", n)
	}
	for line := range strings.Lines(string(recorded(t, "sinfo-nodes-gres.out"))) {
		f := columns(line, []int{64, 64, 32, 32, 64, 64, 64})
		if i := slices.IndexFunc(list, func(p Partition) bool { return p.Name == strings.TrimSuffix(f[1], "*") }); i >= 0 {
			list[i].add([]string{f[0], f[1], f[2], f[3], "262144", f[4], f[5], f[6]})
		}
	}
	if p := list[2]; p.GPUs["a100"] != 3 || p.AllGPUs != 6 || p.IdleGPUs != 6 || p.CPUs != 64 || p.Memory != 256<<30 || !slices.Contains(p.features, "a100") {
		t.Errorf("aa100 is %+v", p)
	}
}

func TestGres(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]map[string]int{
		"gpu:a100:3(S:0-1)": {"a100": 3}, "(null)": {}, "gpu:4": {"": 4}, "gpu:a100:2(IDX:0,2),craynetwork:4": {"a100": 2}, "gpu:h100:2,gpu:a30:1": {"h100": 2, "a30": 1},
	} {
		got := parseGres(in)
		if len(got) != len(want) {
			t.Errorf("%s is %v, want %v", in, got, want)
		}
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%s is %v, want %v", in, got, want)
			}
		}
	}
}

// TestMostNodes: a limit on nodes bounds the cores and GPUs that are held on them, the least
// of all limits holds, and it says whose it is.
func TestMostNodes(t *testing.T) {
	t.Parallel()
	s := &Facts{qos: parseQoS("normal|0||node=2,gres/gpu=5|||cpu=100||||||||\n"), Associations: parseAssoc("c|u|me||normal|normal||||mem=1G||||\n")}
	most, by := s.Most("u", "normal", &Partition{Name: "aa100", CPUs: 64, GPUs: map[string]int{"a100": 3, "v100": 2}})
	if want := (offer.Room{Devices: 5, Cores: 100, Memory: 1 << 30}); most != want || by != "qos normal and account u" {
		t.Errorf("%+v by %q", most, by)
	}
	if most, _ = s.Most("u", "normal", &Partition{Name: "amilan", CPUs: 32}); most.Cores != 64 || most.Devices != 5 {
		t.Errorf("%+v", most)
	}
}
