package offer

import "slices"

// A Guard says whose the files are that may be at a job's output paths. Plans ask it which
// files need a person's yes, and the place where a job starts which it may replace. A file is
// the one that a Guard names only if it is Unchanged.
type Guard struct {
	// Own are recorded for this very job: results, which have a digest, and
	// what the last of its launches that ran left, which has none.
	Own []Output `json:"own,omitempty"`
	// Results are those that the launch replaces, whatever became of them since:
	// a person agreed that the job runs again.
	Results []Output `json:"results,omitempty"`
	// Replace are files of others. A person agreed to each.
	Replace []Output `json:"replace,omitempty"`
	// Begun says that a launch of the job ran before, so that the checkpoint at
	// its path is its own.
	Begun bool `json:"begun,omitempty"`
	// Unseen says that nobody saw the end of the last launch: all its files count as its own.
	Unseen bool `json:"unseen,omitempty"`
	// Before is the last launch that ran and did not complete, TOKEN.N; "" if there is none.
	Before string `json:"before,omitempty"`
}

// CheckpointName is the name under which a job's checkpoint is looked at as one
// more output.
const CheckpointName = "checkpoint "

// A Fate is muster's action on a file at an output path when the job starts.
type Fate int

// The fates.
const (
	Stays   Fate = iota // nothing is there, or the job may write over it
	Aside               // it is moved aside
	Foreign             // it keeps the job from starting
)

// Fate decides about the file at the path of an output before the first launch under a token.
// Several jobs write a shared one, so that the file may be another job's of the campaign.
func (g *Guard) Fate(there Output, shared bool) Fate {
	same := func(o Output) bool { return o.Unchanged(there) }
	switch {
	case !there.Exists():
		return Stays
	case slices.ContainsFunc(g.Replace, same):
		return Aside
	case shared, there.Name == CheckpointName && g.Begun:
		return Stays
	case slices.ContainsFunc(g.Results, func(o Output) bool { return o.Path == there.Path }):
		return Aside
	}
	if i := slices.IndexFunc(g.Own, same); i >= 0 {
		if g.Own[i].Digest != "" {
			return Aside
		}
		return Stays
	}
	if g.Unseen {
		return Stays
	}
	return Foreign
}

// Again decides before a later launch under the token. Left is the file of the launch before,
// nil where nobody saw it.
func (g *Guard) Again(there Output, shared bool, left []Output) Fate {
	if !there.Exists() || shared || there.Name == CheckpointName || left == nil || slices.ContainsFunc(left, there.Unchanged) {
		return Stays
	}
	return Foreign
}
