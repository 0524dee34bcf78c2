package file

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/muster-run/muster/state/store"
)

// TestUnreadableGivesTheWayOut: of what belongs to another user the error says
// whom to ask; any other error stays as it is.
func TestUnreadableGivesTheWayOut(t *testing.T) {
	t.Parallel()
	s := &Store{}
	denied := fmt.Errorf("read state: %w", &fs.PathError{Op: "open", Path: "/c/muster.state.json", Err: fs.ErrPermission})
	var read *store.ReadError
	if err := s.unreadable(denied); !errors.As(err, &read) || read.Path != "/c/muster.state.json" || !strings.Contains(read.Way, "Run muster as that user") || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	for _, other := range []error{fs.ErrPermission, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, &store.CorruptError{Path: "x"}, &store.WriteError{Path: "x", Err: denied}} {
		if err := s.unreadable(other); err != other {
			t.Errorf("%v became %v", other, err)
		}
	}
}
