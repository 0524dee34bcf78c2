package gpu

// untouched is how much more memory than before, in bytes, may be in use on a
// device that nothing was put on: a CUDA context alone takes more.
const untouched = 64 << 20

// Own is how many bytes of a device's memory some processes have in use, those
// that own names. before is what was in use when the device was given to them,
// -1 = unknown. The answer is 0 only where nobody is seen on the device and no
// memory has gone, and -1 where that cannot be told: where the driver names no
// processes, others are on it, or it does not say how much one has.
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
