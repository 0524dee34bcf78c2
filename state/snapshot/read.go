package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// Read reads a snapshot that a person may have edited or reformatted, or
// that an older muster wrote: any layout will do, and a digest is not needed.
// One that is there must match if the layout is still Encode's.
func Read(path string, data []byte) (*state.State, error) {
	d := decoder{path: path, text: string(data)}
	version, ok := versionOf(data)
	if !ok {
		return nil, d.damage(0, "it is not a snapshot of a state: it has no version")
	}
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, d.damage(int(dec.InputOffset()), "it is no JSON: "+err.Error())
	}
	if version > state.SchemaVersion {
		muster, _ := doc["muster"].(string)
		return nil, &store.NewerError{Path: path, Format: version, Known: state.SchemaVersion, Muster: muster}
	}
	if err := upgrade(doc, version); err != nil {
		return nil, d.damage(0, err.Error())
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return d.whole(text)
}

// whole reads a document of the current version in any layout.
func (d *decoder) whole(text []byte) (*state.State, error) {
	s := &state.State{}
	var rows struct {
		Jobs []*state.Job `json:"jobs"`
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, d.damage(0, err.Error())
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, d.damage(0, err.Error())
	}
	s.Jobs = make(map[string]*state.Job, len(rows.Jobs))
	for _, j := range rows.Jobs {
		switch {
		case j == nil || strings.TrimSpace(j.Address) == "":
			return nil, d.damage(0, "a job has no address")
		case s.Jobs[j.Key()] != nil:
			return nil, d.damage(0, fmt.Sprintf("job %q is there twice", j.Key()))
		}
		s.Jobs[j.Key()] = j
	}
	return s, nil
}
