// Command nvidia-smi replaces NVIDIA's on a lab host: its figures follow the processes that
// really run there. A file "gpus" beside it has one line for each device and one for each
// process that only the lab knows:
//
//	gpu UUID MIB NAME
//	process INDEX PID MIB
//
// Any other process holds LAB_GPU_MIB on every device of its
// CUDA_VISIBLE_DEVICES, as its environment has them.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type device struct {
	index       int
	uuid, name  string
	total, used int
	processes   []process
}

type process struct{ pid, mib int }

// context is the driver's own memory on a device without a process.
const context = 3 // MiB

func main() {
	devices, err := read()
	if err != nil {
		fmt.Println("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
	if len(devices) == 0 {
		fmt.Println("No devices were found")
		os.Exit(6)
	}
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "-L":
			for _, d := range devices {
				fmt.Printf("GPU %d: %s (UUID: %s)\n", d.index, d.name, d.uuid)
			}
		case "--query-gpu":
			for _, d := range devices {
				print(value, d.field)
			}
		case "--query-compute-apps":
			for _, d := range devices {
				for _, p := range d.processes {
					print(value, func(f string) (string, bool) { return p.field(d, f) })
				}
			}
		}
	}
}

func print(fields string, value func(string) (string, bool)) {
	var row []string
	for f := range strings.SplitSeq(fields, ",") {
		v, ok := value(f)
		if !ok {
			fmt.Printf("Field \"%s\" is not a valid field to query.\n\n", f)
			os.Exit(2)
		}
		row = append(row, v)
	}
	fmt.Println(strings.Join(row, ", "))
}

func (d *device) field(name string) (string, bool) {
	v, ok := map[string]string{
		"index": strconv.Itoa(d.index), "uuid": d.uuid, "name": d.name, "memory.total": strconv.Itoa(d.total),
		"memory.used": strconv.Itoa(d.used), "memory.free": strconv.Itoa(d.total - d.used), "mig.mode.current": "Disabled",
		"utilization.gpu": "0", "driver_version": "550.54.15", "ecc.errors.uncorrected.volatile.total": "0",
	}[name]
	return v, ok
}

func (p process) field(d *device, name string) (string, bool) {
	v, ok := map[string]string{
		"gpu_uuid": d.uuid, "pid": strconv.Itoa(p.pid), "used_memory": strconv.Itoa(p.mib), "used_gpu_memory": strconv.Itoa(p.mib), "gpu_name": d.name,
	}[name]
	return v, ok
}

// read makes devices of the file and of /proc.
func read() ([]*device, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(self), "gpus"))
	if err != nil {
		return nil, err
	}
	var all []*device
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		switch {
		case len(f) == 4 && f[0] == "gpu":
			total, _ := strconv.Atoi(f[2])
			all = append(all, &device{index: len(all), uuid: f[1], total: total, name: f[3], used: context})
		case len(f) == 4 && f[0] == "process":
			index, _ := strconv.Atoi(f[1])
			pid, _ := strconv.Atoi(f[2])
			mib, _ := strconv.Atoi(f[3])
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
				all[index].hold(pid, mib)
			}
		}
	}
	environments(all)
	return all, nil
}

func (d *device) hold(pid, mib int) {
	d.used += mib
	d.processes = append(d.processes, process{pid, mib})
}

// environments adds the processes whose environment states their memory.
func environments(all []*device) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte("LAB_GPU_MIB=")) {
			continue
		}
		visible, mib := "", 0
		for kv := range strings.SplitSeq(string(env), "\x00") {
			if v, ok := strings.CutPrefix(kv, "CUDA_VISIBLE_DEVICES="); ok {
				visible = v
			}
			if v, ok := strings.CutPrefix(kv, "LAB_GPU_MIB="); ok {
				mib, _ = strconv.Atoi(v)
			}
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		for want := range strings.SplitSeq(visible, ",") {
			for _, d := range all {
				if want == strconv.Itoa(d.index) || len(want) > 4 && strings.HasPrefix(d.uuid, want) {
					d.hold(pid, mib)
				}
			}
		}
	}
}
