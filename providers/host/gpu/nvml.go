//go:build cgo && linux

package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/muster-run/muster/providers/failure"
)

// nvmlLimit is how long a driver may take to answer.
const nvmlLimit = 10 * time.Second

// An nvmlReader reads devices through NVML. The library's calls cannot be
// interrupted: one goroutine at a time is in it, and a call that hangs leaves
// the reader answering with an error until it returns.
type nvmlReader struct {
	lib   nvml.Interface
	limit time.Duration
	busy  chan struct{} // holds one token while a call is in the library

	events nvml.EventSet // nil: the driver reports no Xid
	xid    map[string][]int

	close sync.Once
}

var _ Reader = (*nvmlReader)(nil)

// OpenNVML loads the library at path, or the system's.
func OpenNVML(path string) (Reader, error) {
	var opts []nvml.LibraryOption
	if path != "" {
		opts = append(opts, nvml.WithLibraryPath(path))
	}
	r := &nvmlReader{lib: nvml.New(opts...), limit: nvmlLimit, busy: make(chan struct{}, 1), xid: map[string][]int{}}
	switch ret := r.lib.Init(); {
	case ret == nvml.SUCCESS:
	case ret == nvml.ERROR_LIBRARY_NOT_FOUND, ret == nvml.ERROR_DRIVER_NOT_LOADED && !driverLoaded():
		return nil, errNoNVML
	default:
		return nil, fmt.Errorf("start NVML: %s", ret)
	}
	r.register()
	return r, nil
}

// has guards against drivers that lack a function: a call of a symbol that is
// not there ends the process.
func (r *nvmlReader) has(symbols ...string) bool {
	for _, s := range symbols {
		if r.lib.Extensions().LookupSymbol(s) != nil {
			return false
		}
	}
	return true
}

// Devices reads every device, or every slice of a device that is cut up.
func (r *nvmlReader) Devices(ctx context.Context) ([]Device, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("read GPUs: an earlier call of NVML still hangs: %w", ctx.Err())
	}
	type answer struct {
		list []Device
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		list, err := r.read()
		<-r.busy
		done <- answer{list, err}
	}()
	select {
	case a := <-done:
		return a.list, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("read GPUs: NVML does not answer: %w", ctx.Err())
	}
}

// Close leaves the library, unless a call hangs in it.
func (r *nvmlReader) Close() error {
	select {
	case r.busy <- struct{}{}:
	case <-time.After(time.Second):
		return errors.New("close NVML: a call hangs in it")
	}
	defer func() { <-r.busy }()
	var ret nvml.Return
	r.close.Do(func() {
		if r.events != nil {
			r.events.Free()
		}
		ret = r.lib.Shutdown()
	})
	if ret != nvml.SUCCESS {
		return fmt.Errorf("close NVML: %s", ret)
	}
	return nil
}

func (r *nvmlReader) read() ([]Device, error) {
	r.drain()
	n, ret := r.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("read GPUs: count: %s", ret)
	}
	var list []Device
	for i := range n {
		h, ret := r.lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			// A lost device keeps its index; the others still work.
			list = append(list, Device{Index: i, Used: -1, Reason: ret.String()})
			continue
		}
		d := r.device(i, h)
		if slices := r.slices(d, h); len(slices) > 0 {
			list = append(list, slices...)
			continue
		}
		list = append(list, d)
	}
	linux.addOpeners(list)
	return list, nil
}

// device reads one device or slice. A value that the driver does not report stays unknown;
// only signs of a broken device make it unhealthy.
func (r *nvmlReader) device(index int, h nvml.Device) Device {
	d := Device{Index: index, Healthy: true, Used: -1}
	var rets [3]nvml.Return
	d.Name, rets[0] = h.GetName()
	d.UUID, rets[1] = h.GetUUID()
	d.Memory, d.Used, rets[2] = r.memory(h)
	d.Model, d.Utilization = Model(d.Name), r.utilization(h)
	for _, ret := range rets {
		if ret == nvml.ERROR_GPU_IS_LOST || ret == nvml.ERROR_RESET_REQUIRED {
			d.Healthy, d.Reason = false, ret.String()
		}
	}
	if rets[1] != nvml.SUCCESS && d.Healthy {
		d.Healthy, d.Reason = false, "it has no UUID: "+rets[1].String()
	}
	d.Xid = slices.Clone(r.xid[d.UUID])
	for _, x := range d.Xid {
		if why := failure.Lethal(x); why != "" && d.Healthy {
			d.Healthy, d.Reason = false, fmt.Sprintf("Xid %d: %s", x, why)
		}
	}
	d.Processes = processes(h)
	return d
}

// memory prefers the second version, which does not count the driver's own memory: with the
// first, an idle device can seem to have 600 MiB in use.
func (r *nvmlReader) memory(h nvml.Device) (total, used int64, ret nvml.Return) {
	if r.has("nvmlDeviceGetMemoryInfo_v2") {
		if m, ret := h.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
			return int64(m.Total), int64(m.Used), ret
		}
	}
	m, ret := h.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return 0, -1, ret
	}
	return int64(m.Total), int64(m.Used), ret
}

// utilization is nil where the driver does not report it.
func (r *nvmlReader) utilization(h nvml.Device) *int {
	if !r.has("nvmlDeviceGetUtilizationRates") {
		return nil
	}
	u, ret := h.GetUtilizationRates()
	if ret != nvml.SUCCESS {
		return nil
	}
	percent := int(u.Gpu)
	return &percent
}

// slices are the MIG devices of a device in MIG mode.
func (r *nvmlReader) slices(d Device, h nvml.Device) (list []Device) {
	if !r.has("nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex") {
		return nil
	}
	if mode, _, ret := h.GetMigMode(); ret != nvml.SUCCESS || mode != nvml.DEVICE_MIG_ENABLE {
		return nil
	}
	n, ret := h.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return nil
	}
	for i := range n {
		s, ret := h.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // not every place is taken
		}
		slice := r.device(d.Index, s)
		slice.MIG, slice.Parent, slice.Xid = true, d.UUID, d.Xid
		if !d.Healthy {
			slice.Healthy, slice.Reason = false, d.Reason
		}
		list = append(list, slice)
	}
	return list
}

// notAvailable is NVML_VALUE_NOT_AVAILABLE as unsigned long long.
const notAvailable = ^uint64(0)

func processes(h nvml.Device) (list []Process) {
	infos, ret := h.GetComputeRunningProcesses()
	if ret != nvml.SUCCESS {
		return nil
	}
	for _, p := range infos {
		used := int64(-1)
		if p.UsedGpuMemory != notAvailable {
			used = int64(p.UsedGpuMemory)
		}
		list = append(list, look(int(p.Pid), used))
	}
	return list
}

// register asks for critical errors, where the driver reports them.
func (r *nvmlReader) register() {
	if !r.has("nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlEventSetWait", "nvmlEventSetFree") {
		return
	}
	set, ret := r.lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		return
	}
	n, _ := r.lib.DeviceGetCount()
	for i := range n {
		if h, ret := r.lib.DeviceGetHandleByIndex(i); ret == nvml.SUCCESS {
			h.RegisterEvents(nvml.EventTypeXidCriticalError, set)
		}
	}
	r.events = set
}

// maxEvents bounds how many errors one call reads.
const maxEvents = 256

// drain reads the critical errors so far.
func (r *nvmlReader) drain() {
	if r.events == nil {
		return
	}
	for range maxEvents {
		e, ret := r.events.Wait(0)
		if ret != nvml.SUCCESS {
			return
		}
		if uuid, ret := e.Device.GetUUID(); ret == nvml.SUCCESS {
			r.xid[uuid] = append(r.xid[uuid], int(e.EventData))
		}
	}
}
