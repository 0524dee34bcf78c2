package file

import (
	"testing"

	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) func() store.Store {
		dir := t.TempDir()
		return func() store.Store {
			s, err := Open(dir, Options{Muster: "0.1.0", FoldAbove: 2000})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}
