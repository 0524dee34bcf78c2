package gpu

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	whole := Device{Index: 3, UUID: "GPU-8932f937-d72c"}
	slice := Device{Index: 3, UUID: "MIG-1111-2222", MIG: true, Parent: "GPU-8932f937-d72c"}
	for _, c := range []struct {
		text         string
		whole, slice bool
	}{
		{`null`, true, true},
		{`[0, 3]`, true, true},
		{`["3"]`, true, true},
		{`[30]`, false, false},
		{`["GPU-8932f937-d72c"]`, true, true},
		{`["GPU-8932"]`, true, true},
		{`["GPU-"]`, false, false},
		{`["MIG-1111-2222"]`, false, true},
		{`["GPU-0000"]`, false, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			var s Selection
			if err := json.Unmarshal([]byte(c.text), &s); err != nil {
				t.Fatal(err)
			}
			if s.Has(whole) != c.whole || s.Has(slice) != c.slice {
				t.Errorf("holds the device: %t, its slice: %t", s.Has(whole), s.Has(slice))
			}
		})
	}
	s := Selection{"3", "7", "GPU-ffff"}
	if got := strings.Join(s.Absent([]Device{whole}), " "); got != "7 GPU-ffff" {
		t.Errorf("absent: %q", got)
	}
	for _, bad := range []Selection{{"-1"}, {"all"}, {"GPU-"}, {"0", "A100"}} {
		if bad.Wrong() == "" {
			t.Errorf("%q is taken", bad)
		}
	}
	if why := s.Wrong(); why != "" {
		t.Error(why)
	}
}

// TestUtilization: one device whose use is unknown makes that of all unknown.
func TestUtilization(t *testing.T) {
	t.Parallel()
	list := []Device{{Index: 0, Utilization: new(0)}, {Index: 1, Utilization: new(98)}, {Index: 2}, {Index: 3, UUID: "MIG-1111", MIG: true}}
	for _, c := range []struct {
		of   Selection
		want []int
	}{{Selection{"0"}, []int{0}}, {Selection{"1", "0"}, []int{0, 98}}, {Selection{"0", "2"}, nil}, {Selection{"0", "7"}, nil}, {Selection{"MIG-1111"}, nil}} {
		if got := c.of.Utilization(list); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	a100 := Device{Index: 0, Name: "NVIDIA A100-SXM4-40GB", Model: "A100", Memory: 40 << 30}
	slice := a100
	slice.MIG, slice.UUID, slice.Memory = true, "MIG-1", 20<<30
	for _, c := range []struct {
		name string
		d    Device
		want offer.GPU
		n    int
		why  string
	}{
		{"any", a100, offer.GPU{}, 1, ""},
		{"four", a100, offer.GPU{}, 4, ""},
		{"model", a100, offer.GPU{Models: []string{"H100", "a100"}}, 1, ""},
		{"A10 is not A100", a100, offer.GPU{Models: []string{"A10"}}, 1, "is a NVIDIA A100"},
		{"memory", a100, offer.GPU{Memory: 40 << 30}, 1, ""},
		{"more memory", a100, offer.GPU{Memory: 41 << 30}, 1, "has 40960 MiB"},
		{"a slice", slice, offer.GPU{Memory: 20 << 30}, 1, ""},
		{"slices", slice, offer.GPU{}, 2, "is a slice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.d.Lacks(c.want, c.n); (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
				t.Errorf("%q, want %q", got, c.why)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	// Requirement: WAV-02
	t.Parallel()
	alice := Process{PID: 4711, User: "alice", Command: "python train.py", Used: 12000 << 20}
	const free = 500 << 20
	for want, d := range map[string]Device{
		"": {Used: free, Healthy: true},
		"GPU 0 is in use by alice (pid 4711): python train.py, 12000 MiB": {Used: 12100 << 20, Healthy: true, Processes: []Process{alice}},
		"GPU 0 is in use by alice (pid 4711): python train.py, 12000 MiB and bob (pid 5); 13000 MiB in all": {Used: 13000 << 20, Healthy: true,
			Processes: []Process{alice, {PID: 5, User: "bob", Used: -1}}},
		"GPU 0 is not healthy: GPU is lost": {Reason: "GPU is lost"},
		"GPU 0 has 9000 MiB in use by no process that can be seen: left behind by one that died, or of another container": {Used: 9000 << 20, Healthy: true},
		"GPU 0 has 9000 MiB in use by carol (pid 6): defunct, 8000 MiB, left behind by one that died or of another container": {Used: 9000 << 20, Healthy: true,
			Processes: []Process{{PID: 6, User: "carol", Command: "python", Used: 8000 << 20, Defunct: true}}},
		"GPU 1 is in use by alice (pid 4711): python train.py, 12000 MiB": {Index: 1, Used: -1, Healthy: true, Processes: []Process{alice}},
		"GPU MIG-1: its memory in use cannot be read":                     {Used: -1, Healthy: true, MIG: true, UUID: "MIG-1"},
	} {
		if got := d.Busy(free); got != want {
			t.Errorf("%+v:\ngot  %q\nwant %q", d, got, want)
		}
	}
	if why := (Device{Used: -1, Healthy: true}).Busy(free); why != "" {
		t.Errorf("a device that tells no figures and runs nothing: %q", why)
	}
}

// A process that has ended and was not waited for is no stranger at work.
func TestDefunct(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	for range 60_000 {
		if p := look(cmd.Process.Pid, 1); p.Defunct {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("never seen as defunct: %+v", look(cmd.Process.Pid, 1))
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"/usr/bin/python3\x00-u\x00/home/a/train.py\x00--token=s3cret\x00": "python3 train.py",
		"./a.out\x00secret\x00": "a.out",
		"":                      "",
		"evil\x1b[31m\x00":      "evil␛[31m",
	} {
		if got := command([]byte(line)); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}
