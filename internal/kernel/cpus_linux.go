package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Cores are the processors that the calling thread may use, those of one core
// together; nil = unknown.
func Cores() (cores [][]int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	at := map[string]int{}
	for cpu, left := 0, set.Count(); left > 0; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		left--
		text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		core := strings.TrimSpace(string(text))
		if err != nil {
			core = fmt.Sprint(cpu)
		}
		if i, ok := at[core]; ok {
			cores[i] = append(cores[i], cpu)
			continue
		}
		at[core] = len(cores)
		cores = append(cores, []int{cpu})
	}
	return cores
}

// OnCores calls start in a thread that may use only some cores, for processes that
// it starts. The caller has locked its goroutine to its thread. Without cores, or
// where the kernel refuses, they may use all.
func OnCores(cores [][]int, start func() error) error {
	var all, some unix.CPUSet
	for _, cpu := range slices.Concat(cores...) {
		some.Set(cpu)
	}
	if some.Count() > 0 && unix.SchedGetaffinity(0, &all) == nil && unix.SchedSetaffinity(0, &some) == nil {
		defer unix.SchedSetaffinity(0, &all)
	}
	return start()
}
