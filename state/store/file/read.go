package file

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/muster-run/muster/state/store"
)

// unreadable gives the way out where an error says that this user may not read
// the state: its files are for their owner alone, as they may tell what the
// owner's jobs are.
func (d *directory) unreadable(err error) error {
	var at *fs.PathError
	var write *store.WriteError // has a way out of its own
	if errors.As(err, &write) || !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return err
	}
	return &store.ReadError{Path: at.Path, Err: at.Err, Way: fmt.Sprintf(
		"The files of a state are readable by their owner alone: `ls -l %s` names the owner. Run muster as that user, or have them print what you need (muster status, muster report, muster state pull).", at.Path)}
}
