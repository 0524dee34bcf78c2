package rental_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/vastai"
)

// report is the output of check.sh on a sound machine with two GPUs, with other
// lines in place of some.
func report(instead ...string) string {
	lines := map[string]string{
		"smi": "smi 0", "gpu": "gpu NVIDIA A100-SXM4-80GB, 81920, 550.90.07\ngpu NVIDIA A100-SXM4-80GB, 81920, 550.90.07", "cuda": "cuda 12.4",
		"heat": "heat 0, 88, 1300, 1410\nheat 1, 35, 210, 1410", "xid": "xid unreadable", "free": "free 61000000", "wrote": "wrote 100.00 100.20",
	}
	for _, line := range instead {
		word, _, _ := strings.Cut(line, " ")
		if lines[word] = line; line == word {
			delete(lines, word)
		}
	}
	var out []string
	for _, word := range []string{"lacks", "smi", "gpu", "cuda", "heat", "xid", "free", "wrote"} {
		out = append(out, lines[word])
	}
	return strings.Join(out, "\n") + "\n"
}

// h200 is the output of check.sh on a real machine.
const h200 = `smi 0
gpu NVIDIA H200, 143771, 580.159.04
cuda 13.0
heat 0, 33, 345, 1980
heat 0, 33, 345, 1980
free 66971696
wrote 28.75 28.82
`

func TestInspectH200(t *testing.T) {
	t.Parallel()
	o := rental.Offer{GPU: "H200", GPUs: 1, GPUMemory: 143771 << 20}
	run := func(context.Context, rental.Machine, string) (string, int, error) { return h200, 0, nil }
	found, err := rental.Inspect(run, rental.Need{CUDA: "12.8", Folder: "/root/work", Free: 25e9}, time.Now)(t.Context(), rental.Machine{}, o)
	if err != nil || found.Driver != "580.159.04" || found.CUDA != "13.0" || len(found.Warnings) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestInspect(t *testing.T) {
	// Requirement: DT-23, ENV-03
	// Requirement: SM-26
	t.Parallel()
	o := rental.Offer{GPU: "A100 SXM4", GPUs: 2, GPUMemory: 81920 << 20}
	need := rental.Need{CUDA: "12.4", Folder: "/root/work", Free: 25e9, Programs: []string{"setsid", "curl|python3"}}
	const one = "gpu NVIDIA A100-SXM4-80GB, 81920, 550.90.07\n"
	hot := "heat 0, 91, 300, 1410"
	for _, c := range []struct{ out, why string }{
		{report(), ""},
		{report(one + "gpu NVIDIA A100-SXM4-80GB, 79000, 550.90.07"), ""},
		{report(one + "gpu NVIDIA A100-SXM4-40GB, 40960, 550.90.07"), "its GPU has 40960 MiB, and its offer says 81920"},
		{report(strings.TrimSpace(one)), "it has 1 GPU, and its offer says 2"},
		{report("gpu"), "it has 0 GPUs, and its offer says 2"},
		{report(one + "gpu NVIDIA H100 80GB HBM3, 81559, 550.90.07"), "its GPU is NVIDIA H100 80GB HBM3, and its offer says A100 SXM4"},
		{report("gpu Failed to initialize NVML\ngpu Unknown Error"), `its nvidia-smi prints "Failed to initialize NVML"`},
		{report("smi 15"), "its nvidia-smi fails with exit 15"},
		{report("smi"), "its nvidia-smi fails with exit "},
		{report("cuda 12.2"), "its driver 550.90.07 supports CUDA 12.2, and the jobs need 12.4"},
		{report("cuda 11.8"), "its driver 550.90.07 supports CUDA 11.8, and the jobs need 12.4"},
		{report("cuda 12.10"), ""},
		{report("cuda 13"), ""},
		{report("cuda"), ""}, // it does not say
		{report("xid 31"), ""},
		{report("xid 31\nxid 79"), "its driver reported Xid 79: the GPU has fallen off the bus"},
		{report("xid 48"), "its driver reported Xid 48: double-bit memory error; the GPU needs a reset"},
		{report(hot + "\n" + hot), "its GPU 0 is at 91 °C and runs at 300 of 1410 MHz"},
		{report(hot + "\nheat 0, 91, 1200, 1410"), ""},
		{report("heat 0, 91, [N/A], 1410"), ""},
		{report("free 20000000"), "its disk has 19.1GiB free, and 25GB is needed"},
		{report("wrote nothing"), "nothing can be written to /root/work"},
		{report("wrote 100.00 104.00"), "its disk writes 16MiB a second, and muster wants 32MiB"},
		{report("wrote 100.00 100.00"), ""},
		{report("lacks curl"), ""},
		{report("lacks curl\nlacks python3"), "its image has no curl or python3, which muster needs"},
		{report("lacks setsid"), "its image has no setsid, which muster needs"},
	} {
		run := func(context.Context, rental.Machine, string) (string, int, error) { return c.out, 0, nil }
		_, err := rental.Inspect(run, need, time.Now)(t.Context(), rental.Machine{}, o)
		if got := fmt.Sprint(err); c.why == "" && err != nil || c.why != "" && got != c.why {
			t.Errorf("%q: %v; want %q", c.out, err, c.why)
		}
	}
}

// What a check measured is kept, and a slow link is unfit.
func TestInspectMeasures(t *testing.T) {
	t.Parallel()
	now := start
	took := time.Second
	run := func(_ context.Context, _ rental.Machine, command string) (string, int, error) {
		if strings.HasPrefix(command, "head ") {
			now = now.Add(took)
		}
		return report("xid 31"), 0, nil
	}
	o := rental.Offer{GPU: "A100 SXM4", GPUs: 2, GPUMemory: 81920 << 20}
	check := rental.Inspect(run, rental.Need{}, func() time.Time { return now })
	f, err := check(t.Context(), rental.Machine{}, o)
	if err != nil || f.String() != "driver 550.90.07, CUDA 12.4, 58.2GiB free, disk 320.0MiB/s, network 1MiB/s, Xid 31" {
		t.Errorf("%s, %v", f, err)
	}
	took = 10 * time.Second
	if _, err := check(t.Context(), rental.Machine{}, o); fmt.Sprint(err) != "it sends 102.4KiB a second here, and muster wants 128KiB" {
		t.Error(err)
	}
}

// A machine that cannot be asked is not unfit.
func TestInspectWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	var unfit *rental.Unfit
	away := func(context.Context, rental.Machine, string) (string, int, error) {
		return "", 0, errors.New("no route")
	}
	for _, gpus := range []int{0, 2} {
		if _, err := rental.Inspect(away, rental.Need{}, time.Now)(t.Context(), rental.Machine{}, rental.Offer{GPUs: gpus}); err == nil || errors.As(err, &unfit) {
			t.Errorf("%v", err)
		}
	}
	broken := func(context.Context, rental.Machine, string) (string, int, error) { return "", 9, nil }
	if _, err := rental.Inspect(broken, rental.Need{}, time.Now)(t.Context(), rental.Machine{}, rental.Offer{}); !errors.As(err, &unfit) {
		t.Errorf("%v", err)
	}
}

func TestNamesOfDevices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		device, model string
		ok            bool
	}{
		{"NVIDIA GeForce RTX 4090", "RTX 4090", true},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090", false},
		{"NVIDIA GeForce RTX 4090 D", "RTX 4090", false},
		{"NVIDIA GeForce RTX 4070 Ti", "RTX 4070", false},
		{"NVIDIA H100 80GB HBM3", "H100 SXM", true},
		{"NVIDIA H100 PCIe", "H100 PCIE", true},
		{"Tesla V100-SXM2-16GB", "Tesla V100", true},
		{"NVIDIA H200", "H100 SXM", false},
		{"NVIDIA RTX A6000", "A6000 48GB", true},
		{"Quadro RTX 6000", "RTX 6000 24GB", true},
		{"NVIDIA RTX 6000 Ada Generation", "RTX 6000 24GB", false},
		{"NVIDIA RTX A6000", "RTX 6000", false},
		{"NVIDIA GH200 480GB", "GH200 96GB", true},
		{"NVIDIA A10", "A10 24GB PCIe", true},
	} {
		run := func(context.Context, rental.Machine, string) (string, int, error) {
			return report("gpu "+c.device+", 24564, 550.90.07", "cuda 12.4"), 0, nil
		}
		if _, err := rental.Inspect(run, rental.Need{}, time.Now)(t.Context(), rental.Machine{}, rental.Offer{GPU: c.model, GPUs: 1, GPUMemory: 24564 << 20}); (err == nil) != c.ok {
			t.Errorf("%s for %s: %v", c.device, c.model, err)
		}
	}
}

// A crowd is a cloud where each search finds another host. Its offers are those of one
// host of the simulator, which has four parts.
type crowd struct {
	*vastai.Client
	searches *atomic.Int32
}

func (c crowd) Offers(ctx context.Context, w rental.Want) ([]rental.Offer, error) {
	out, err := c.Client.Offers(ctx, w)
	n := c.searches.Add(1)
	for i := range out {
		out[i].Machine += fmt.Sprintf("-%d", n)
	}
	return out, err
}

type crowded struct{ platform }

func (c crowded) Open(providers.Backend) (rental.Cloud, error) {
	return crowd{c.client(c.key), &atomic.Int32{}}, nil
}

// old is the check of a machine whose driver is too old.
var old = report("gpu NVIDIA GeForce RTX 4090, 24564, 470.82.01", "cuda 11.4")

func newCrowd(t *testing.T, says func(id string) string) *town {
	n := newTown(t, map[string]any{"image": "pytorch/pytorch:2.8.0-cuda12.4-cudnn9-runtime"})
	n.says, n.cloudOf = says, func(p platform) rental.Platform { return crowded{p} }
	n.begin()
	return n
}

// The first machine is unfit: it is given back and another one takes its place. The job
// says why while it waits, whoever watches hears it, and a later plan avoids the host.
func TestAnUnfitMachineIsReplaced(t *testing.T) {
	t.Parallel()
	var first atomic.Value
	n := newCrowd(t, func(id string) string {
		if first.CompareAndSwap(nil, id); first.Load() == id {
			return old
		}
		return report("gpu NVIDIA GeForce RTX 4090, 24564, 570.124.06", "cuda 12.8")
	})
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	var reasons, notes []string
	n.listen(func(b providers.Batch) bool {
		for _, o := range b.Events {
			reasons = append(reasons, o.Reason)
		}
		for _, note := range b.Notes {
			notes = append(notes, note.Text)
		}
		return len(b.Events) > 0 && b.Events[len(b.Events)-1].Status == offer.Completed
	})
	why := "its driver 470.82.01 supports CUDA 11.4, and the jobs need 12.4"
	if !strings.Contains(strings.Join(reasons, "\n"), "; machine "+first.Load().(string)+" was given back: "+why) {
		t.Errorf("reasons %q", reasons)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "is given back, and its host avoided: "+why) || !strings.Contains(text, "is checked: driver 570.124.06, CUDA 12.8") {
		t.Errorf("notes %q", notes)
	}
	var pools []offer.Pool
	waitFor(t, "pools", func() (ok bool) {
		n.clock.Advance(time.Second)
		var err error
		pools, err = n.provider.Pools(t.Context(), n.backend.Name)
		return err == nil
	})
	if text := fmt.Sprint(pools); !strings.Contains(text, "avoided: host 41001-") || !strings.Contains(text, "since "+why) {
		t.Errorf("%s", text)
	}
}

// Three unfit machines in a row are enough: the job ends and says so. The next
// submission tries again.
func TestUnfitMachinesInARow(t *testing.T) {
	t.Parallel()
	n := newCrowd(t, func(string) string { return old })
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	seen := n.until("it to end", all(offer.Failed, j))
	if o := seen[j.Token]; !strings.HasPrefix(o.Reason, "3 machines in a row were unfit; the last, ") || !strings.HasSuffix(o.Reason, "and the jobs need 12.4") || o.Class != "refused" {
		t.Errorf("%+v", o)
	}
	waitFor(t, "all to be gone", func() bool { n.clock.Advance(10 * time.Second); return len(n.alive()) == 0 })
	if got := len(n.truth()); got != 3 {
		t.Errorf("%d machines were rented", got)
	}
	n.says = nil
	n.begin()
	again := n.job("b", "echo '{}' > b.json")
	n.submit(again)
	n.until("the next submission", all(offer.Completed, again))
}
