package sshx

import (
	"net"
	"testing"
)

// What cannot be reached is named once.
func TestUnreachableNamesTheHostOnce(t *testing.T) {
	t.Parallel()
	none := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "box.example", IsNotFound: true}}
	for name, c := range map[string]struct {
		h    host
		want string
	}{
		"its own name":    {host{alias: "box.example", name: "box.example", port: 22}, "cannot reach box.example: no such host: check the name, or add it to ~/.ssh/config"},
		"by its HostName": {host{alias: "box", name: "box.example", port: 2222}, "cannot reach box (box.example:2222): no such host: check the name, or add it to ~/.ssh/config"},
		"with a port":     {host{alias: "127.0.0.1:1", name: "127.0.0.1:1", port: 22}, `cannot reach 127.0.0.1:1: "127.0.0.1:1" is not a host name: it includes a port: write "127.0.0.1" and port = 1, or Port 1 for it in ~/.ssh/config`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.h.unreachable(none).Error(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
