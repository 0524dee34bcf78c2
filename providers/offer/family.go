package offer

// Family is the GPU family of a pool: a testing pool has that of the pools it replaces, which
// are among those given. "" when it has no devices.
func (p Pool) Family(pools []Pool) string {
	for _, o := range pools {
		if len(p.StandsFor) > 0 && o.Backend == p.Backend && o.Name == p.StandsFor[0] && len(o.StandsFor) == 0 {
			return o.Family(nil)
		}
	}
	if p.GPUClass != "" {
		return p.GPUClass
	}
	return p.GPUModel
}
