package planner

import "github.com/muster-run/muster/internal/diag"

// Make plans. The list holds what the person should know; with errors in it
// the plan is for showing only.
func Make(in Input) (*Plan, diag.List) {
	panic("planner.Make: to be written")
}

// Groups are the distinct questions to ask of backends before planning: like
// jobs with their candidates, so that one quote serves them all.
func Groups(in Input) []Group { panic("planner.Groups: to be written") }
