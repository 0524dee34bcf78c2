package planner

// Counts is the summary line.
type Counts struct {
	Run, Rerun, Cancel, Unchanged           int
	Smoke, Retry, Resubmit, Continue, Adopt int
	Move, Accept, Held, Blocked, Unknown    int
	Missing, Bytes, Forget, Release, Record int
	Altered                                 int // with outputs that hold other bytes than were recorded
	Restore                                 int // results that were replaced, put back
	AdoptFiles                              int // jobs whose files are there, and that muster did not run
	Delete                                  int // recorded outputs
	Reread                                  int // completed jobs with metrics that are read again
	Selected, Total                         int
}

// Changes reports whether the plan does anything.
func (c Counts) Changes() bool {
	return c.Run+c.Rerun+c.Cancel+c.Smoke+c.Retry+c.Resubmit+c.Continue+c.Adopt+c.Move+c.Accept+c.Forget+c.Release+c.Record+c.Delete+c.Restore+c.AdoptFiles+c.Reread > 0
}

// Watches reports whether the plan only follows work that was started before it.
func (c Counts) Watches() bool {
	following := c.Continue + c.Record
	c.Continue, c.Record = 0, 0
	return following > 0 && !c.Changes()
}

// count counts the plan's actions. Selected jobs and deletions are counted as they are found.
func (p *Plan) count() {
	c := &p.Counts
	for _, pp := range p.Phases {
		var n [kinds]int
		for _, k := range pp.Kind {
			n[k]++
		}
		c.addKinds(&n)
		if g := pp.Smoke; g != nil && pp.Hold == "" {
			c.Smoke += len(g.Run)
		}
	}
	var n [kinds]int
	for _, r := range p.Loose {
		if r.Release {
			c.Release++
		} else if r.Detail.State != nil || r.PerHour == "" {
			n[r.Kind]++
		}
	}
	c.addKinds(&n)
}

func (c *Counts) addKinds(n *[kinds]int) {
	c.Run += n[Run]
	c.Rerun += n[Rerun] + n[Restart]
	c.Cancel += n[Cancel]
	c.Unchanged += n[None]
	c.Retry += n[Retry]
	c.Resubmit += n[Resubmit]
	c.Continue += n[Continue]
	c.Adopt += n[Adopt]
	c.Move += n[Move]
	c.Accept += n[Accept]
	c.Held += n[HeldKind]
	c.Blocked += n[Blocked]
	c.Unknown += n[UnknownAt]
	c.Missing += n[Missing]
	c.Bytes += n[Bytes]
	c.Altered += n[Altered]
	c.Restore += n[Restore]
	c.AdoptFiles += n[AdoptFiles]
	c.Forget += n[Forget]
	c.Record += n[Record]
}
