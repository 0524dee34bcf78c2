package shell

import "testing"

func TestAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Quoting{
		"":                                  Bare,
		"echo ":                             Bare,
		"echo \"":                           Double,
		"echo \"a\" '":                      Single,
		"echo # it's ":                      Comment,
		"echo # it's\n":                     Bare,
		"cat <<EOF > ":                      Bare,
		"cat <<EOF\n":                       Heredoc,
		"cat <<'EOF' > x\nit's ":            Heredoc,
		"cat <<EOF\nit's\nEOF\ncat ":        Bare,
		"cat <<-EOF\n\tit's\n\tEOF\ncat \"": Double,
		"cat << \"E F\"\nx\n":               Heredoc,
		"cat <<EOF\nEOF":                    Bare,
		"cat <<< ":                          Bare,
	} {
		if got := (Place{}).After(text); got.Quoting != want {
			t.Errorf("%q: %d, want %d", text, got.Quoting, want)
		}
	}
	// A splice on a line of a here-document does not end it.
	if got := (Place{}).After("cat <<EOF\na ").After("EOF\n"); got.Quoting != Heredoc {
		t.Errorf("a line that begins with a splice: %d", got.Quoting)
	}
	if got := (Place{}).After("cat <<EOF\na ").After(" b\nEOF\ncat "); got.Quoting != Bare {
		t.Errorf("behind a here-document with a splice: %d", got.Quoting)
	}
}
