package planner

import "fmt"

// finish says what the plan assumes, and closes it.
func (m *maker) finish() {
	m.compareRequests()
	m.headBackends()
	m.note()
	m.seal()
}

// seal closes the plan.
func (m *maker) seal() {
	m.plan.Diags = m.diags.Once()
	m.plan.Seal()
	if most, n := m.in.Campaign.Policy.MaxCancel, m.plan.Counts.Cancel; most > 0 && n > most {
		m.plan.Asks = append(m.plan.Asks, fmt.Sprintf("it cancels %d jobs, and policy max_cancel is %d", n, most))
	}
}
