package ssh

import "testing"

// TestNamesAreChecked: what ssh(1) refuses as a name is refused with the campaign,
// before any host is asked.
func TestNamesAreChecked(t *testing.T) {
	bad := map[string]string{"host": "$(id>x)", "hosts": "-oProxyCommand=x", "user": "a;b", "control_path": "relative"}
	for _, a := range Schema().Config.Attrs {
		if value, ok := bad[a.Name]; ok && (a.Check == nil || a.Check(value) == nil) {
			t.Errorf("%s = %q is taken", a.Name, value)
		}
		if a.Check != nil && a.Name != "control_path" && a.Check("lab1.example.org") != nil {
			t.Errorf("%s: a plain name is refused", a.Name)
		}
	}
}
