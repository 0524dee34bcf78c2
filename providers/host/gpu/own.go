package gpu

// untouched is how much more memory than before, in bytes, may be in use on a
// device that nothing was put on: a CUDA context alone takes more.
const untouched = 64 << 20

// Own is how many bytes of a device's memory some processes use, those for which own is true.
// before is the memory in use when they got the device, -1 = unknown. The answer is 0 only
// where no process is on the device and no memory is used, and -1 where it is unknown: the
// driver names no processes, others are on the device, or the driver reports no memory for
// one.
func (d Device) Own(own func(pid int) bool, before int64) int64 {
	sum, found := int64(0), false
	for _, p := range d.Processes {
		if !own(p.PID) {
			continue
		}
		if p.Used < 0 {
			return -1
		}
		sum, found = sum+p.Used, true
	}
	switch {
	case found:
		return sum
	case len(d.Processes) == 0 && d.Healthy && before >= 0 && d.Used >= 0 && d.Used <= before+untouched:
		return 0
	}
	return -1
}
