package snapshot

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/state"
)

// firstSealed is the first schema version whose snapshots end with a digest.
const firstSealed = 1

// upgrades bring a document from the version that is their index to the next.
// They work on plain JSON, so that they still hold when the Go types have
// changed again, and none is ever changed or removed.
var upgrades = [state.SchemaVersion]func(doc map[string]any) error{
	0: v0to1,
}

func upgrade(doc map[string]any, from int) error {
	if from < 0 {
		return fmt.Errorf("schema version %d does not exist", from)
	}
	for v := from; v < state.SchemaVersion; v++ {
		if err := upgrades[v](doc); err != nil {
			return fmt.Errorf("upgrade from schema version %d: %w", v, err)
		}
	}
	doc["version"] = state.SchemaVersion
	return nil
}

// v0to1: version 0, which came before the first release, kept jobs in an
// object by address, called the status "state", and counted neither fences
// nor events.
func v0to1(doc map[string]any) error {
	jobs, ok := doc["jobs"].(map[string]any)
	if !ok && doc["jobs"] != nil {
		return fmt.Errorf("jobs is no object")
	}
	list := []any{}
	for _, address := range slices.Sorted(maps.Keys(jobs)) {
		job, ok := jobs[address].(map[string]any)
		if !ok {
			return fmt.Errorf("job %s is no object", address)
		}
		job["address"] = address
		if status, ok := job["state"]; ok {
			job["status"] = status
			delete(job, "state")
		}
		list = append(list, job)
	}
	doc["jobs"] = list
	return nil
}
