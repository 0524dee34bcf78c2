package gpu

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/host/gpu/gputest"
)

func TestSMI(t *testing.T) {
	path, set := gputest.SMI(t, "device 0 GPU-a NVIDIA_GeForce_RTX_4090 24564 1\ndevice 1 GPU-b NVIDIA_A100-SXM4-40GB 40960 30\n"+
		"busy 0 98\nbusy 1 50\nslice 1 MIG-1 20096 1\nslice 1 MIG-2 20096 7000\nprocess 0 999999999 17\nprocess 0 [N/A] 17\nprocess 1 999999998 6900 1\n")
	got, err := OpenSMI(path).Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slice := Device{Index: 1, Name: "NVIDIA A100-SXM4-40GB MIG 3g.20gb", Model: "A100", Memory: 20 << 30, Used: -1, MIG: true, Parent: "GPU-b", Healthy: true}
	one, two := slice, slice
	one.UUID, two.UUID = "MIG-1", "MIG-2"
	one.Used, two.Used, two.Processes = 1<<20, 7000<<20, []Process{{PID: 999999998, Used: 6900 << 20, Gone: true}}
	want := []Device{
		{Index: 0, UUID: "GPU-a", Name: "NVIDIA GeForce RTX 4090", Model: "RTX 4090", Memory: 24564 << 20, Used: 1 << 20, Utilization: new(98), Healthy: true,
			Processes: []Process{{PID: 999999999, Used: 17 << 20, Gone: true}}},
		one, two,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	set("")
	if got, err := OpenSMI(path).Devices(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("no devices: %v, %v", got, err)
	}
}

// What nvidia-smi has been seen to say; only a clean answer is one.
func TestSMISays(t *testing.T) {
	for says, want := range map[string]string{
		"0, GPU-a, NVIDIA H100 PCIe, 81559, [N/A], [Not Supported], [N/A]":                             "H100 healthy 81559 used ?",
		"0, GPU-a, NVIDIA GB10, [N/A], [N/A], [N/A], [N/A]":                                            "GB10 healthy 0 used ?",
		"0, GPU-a, Tesla V100-SXM2-16GB, 16160, [Insufficient Permissions], 0, [N/A]":                  "V100 healthy 16160 used ? busy 0",
		"0, GPU-a, NVIDIA A100-PCIE-40GB, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]":  "A100 broken: GPU is lost",
		"0, GPU-a, NVIDIA A100-PCIE-40GB, 40960, [Unknown Error], [N/A], [N/A]":                        "A100 broken: Unknown Error",
		"0, [Unknown Error], NVIDIA A100-PCIE-40GB, 40960, 1, [N/A], [N/A]":                            "A100 broken: it has no UUID: Unknown Error",
		"0, GPU-a, NVIDIA L40S, 46068 MiB, 4 MiB, 98 %, [N/A]":                                         "L40S healthy 46068 used 4 busy 98",
		"Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error":                     "error",
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.":                "error",
		"Failed to initialize NVML: Driver/library version mismatch\nsay NVML library version: 550.54": "error",
		"0, GPU-a, NVIDIA A100-PCIE-40GB":                                                              "error",
		"x, GPU-a, NVIDIA A100-PCIE-40GB, 40960, 1, [N/A], [N/A]":                                      "error",
		"0, GPU-a, NVIDIA A100-PCIE-40GB, 99999999999999999999, 1, [N/A], [N/A]":                       "A100 broken: 99999999999999999999",
		"No devices were found": "none",
		"":                      "error",
	} {
		t.Run(says, func(t *testing.T) {
			path, _ := gputest.SMI(t, "say "+says+"\n")
			list, err := OpenSMI(path).Devices(t.Context())
			if got := describe(list, err); got != want {
				t.Errorf("got %q (%v), want %q", got, err, want)
			}
		})
	}
}

func describe(list []Device, err error) string {
	switch {
	case err != nil:
		return "error"
	case len(list) == 0:
		return "none"
	case !list[0].Healthy:
		return list[0].Model + " broken: " + list[0].Reason
	}
	used := "?"
	if list[0].Used >= 0 {
		used = text(list[0].Used / mib)
	}
	says := list[0].Model + " healthy " + text(list[0].Memory/mib) + " used " + used
	if u := list[0].Utilization; u != nil {
		says += " busy " + strconv.Itoa(*u)
	}
	return says
}

func TestSMIFails(t *testing.T) {
	path, set := gputest.SMI(t, "say Failed to initialize NVML: \x1b[31mDriver\nexit 9\n")
	_, err := OpenSMI(path).Devices(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Failed to initialize NVML") || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("exit 9: %v", err)
	}
	set("hang 30\n")
	if _, err := (&SMI{Path: path, Limit: 50 * time.Millisecond}).Devices(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("hanging: %v", err)
	}
	if _, err := OpenSMI("/nonexistent/nvidia-smi").Devices(t.Context()); err == nil {
		t.Error("an nvidia-smi that is not there answers")
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"NVIDIA A100-SXM4-40GB MIG 3g.20gb": "A100",
		"NVIDIA H100 80GB HBM3":             "H100",
		"NVIDIA H200":                       "H200",
		"NVIDIA GH200 480GB":                "GH200",
		"NVIDIA B200":                       "B200",
		"Tesla T4":                          "T4",
		"NVIDIA A10G":                       "A10G",
		"NVIDIA L40S":                       "L40S",
		"NVIDIA GeForce RTX 3090":           "RTX 3090",
		"NVIDIA GeForce RTX 2080 Ti":        "RTX 2080 Ti",
		"NVIDIA RTX A6000":                  "RTX A6000",
		"NVIDIA RTX 6000 Ada Generation":    "RTX 6000 Ada",
		"Quadro RTX 8000":                   "RTX 8000",
		"NVIDIA TITAN RTX":                  "TITAN RTX",
		"AMD Instinct MI100":                "MI100",
		"NVIDIA Graphics Device":            "Graphics Device",
	} {
		t.Run(name, func(t *testing.T) {
			if got := Model(name); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, asked string
		want         bool
	}{
		{"A100", "A100", true}, {"A100", "a100", true}, {"A100", "A10", false}, {"A10", "A100", false}, {"A100", "H100,A100", true},
		{"A100", "", true}, {"RTX 4090", "4090", true}, {"RTX 4090", "RTX_4090", true}, {"RTX 4090", "rtx4090", true}, {"RTX 4090", "409", false},
		{"RTX 4090", "NVIDIA GeForce RTX 4090", true}, {"A100", "A100-SXM4-80GB", true}, {"L40S", "L40", false}, {"RTX A6000", "A6000", true},
	} {
		t.Run(c.model+" for "+c.asked, func(t *testing.T) {
			var asked []string
			if c.asked != "" {
				asked = strings.Split(c.asked, ",")
			}
			if got := matches(c.model, asked); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func text(n int64) string { return strconv.FormatInt(n, 10) }
