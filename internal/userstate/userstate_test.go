package userstate

import "testing"

func TestDir(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ state, home, want string }{
		{"/s", "/h", "/s/muster"},
		{"", "/h", "/h/.local/state/muster"},
		{"s", "/h", "/h/.local/state/muster"},
		{"", "h", ""},
		{"", "", ""},
	} {
		env := map[string]string{"XDG_STATE_HOME": tt.state, "HOME": tt.home}
		if got := Dir(func(name string) string { return env[name] }); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.state, tt.home, got, tt.want)
		}
	}
}
