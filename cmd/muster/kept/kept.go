// Package kept makes the plan of a campaign in which nothing starts from a
// glance at its state, and keeps what it showed: asked again while all that it
// followed from is the same, it need not be made again. It says nothing that a
// plan made of the whole state would not say.
package kept

import (
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
)

// Asked is who asks for a plan, of which campaign, and when.
type Asked struct {
	Load    lang.LoadOptions // the campaign, without the backends' schemas
	Cache   string           // the folder where screens are kept
	Now     time.Time
	Style   term.Style        // of the text, and for whom
	Refresh bool              // files are looked at
	Waiting func(what string) // told of waits
	// Reads says of a folder outside the checkout why it may not be read; nil allows all.
	Reads func(dir, what string) error
	// Key is this user's own, made if asked for: what others put into Cache is not
	// shown. Without one nothing is kept.
	Key func(make bool) []byte
}
