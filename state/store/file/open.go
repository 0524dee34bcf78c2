package file

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/muster-run/muster/state/store"
)

// Type is the label of this store's `state` block.
const Type = "file"

func init() { store.Register(Type, openConfigured) }

// openConfigured opens the store that a `state "file"` block describes: beside
// the campaign if it has no path.
func openConfigured(config json.RawMessage, o store.Options) (store.Store, error) {
	var block struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal(config, &block); err != nil {
		return nil, fmt.Errorf("read the state block: %w", err)
	}
	path := block.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(o.Dir, path)
	}
	return Open(path, Options{Muster: o.Muster, Who: o.Who})
}
