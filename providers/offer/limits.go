package offer

import "time"

// NoLimit says of a limit of a Quote or of Limits that there is none, whatever
// the pool has.
const NoLimit = -1

// Limits are those of like jobs where their request has limits of its own, as a qos of
// Slurm's. Zero is the pool's.
type Limits struct {
	MaxTime   time.Duration `json:",omitzero"`
	MaxJobs   int           `json:",omitzero"`
	MaxSubmit int           `json:",omitzero"`
	SubmitBy  string        `json:",omitzero"` // as in Pool, of MaxSubmit
	Most      Room          `json:",omitzero"` // as in Quote
	MostBy    string        `json:",omitzero"`
}

// On is a pool as it is for the jobs that have these limits.
func (l Limits) On(p Pool) Pool {
	if l.MaxTime > 0 {
		p.MaxTime = l.MaxTime
	}
	if l.MaxJobs != 0 {
		p.MaxJobs = max(l.MaxJobs, 0)
	}
	if l.MaxSubmit != 0 {
		p.MaxSubmit, p.SubmitBy = max(l.MaxSubmit, 0), l.SubmitBy
	}
	if l.Most != (Room{}) {
		p.Most, p.MostBy = l.Most.over(p.Most), l.MostBy
	}
	return p
}
