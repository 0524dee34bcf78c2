package request

import "github.com/muster-run/muster/state"

// Noted are the events of a note: one for each address.
func Noted(r Request) (out []state.Event) {
	for _, address := range r.Addresses {
		out = append(out, state.Noted{Note: state.Note{Address: address, Who: r.Who, Text: r.Reason, At: r.At}})
	}
	return out
}
