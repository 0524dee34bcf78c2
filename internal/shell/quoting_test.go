package shell

import "testing"

func TestAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Quoting{
		"":                                         Bare,
		"echo ":                                    Bare,
		"echo \"":                                  Double,
		"echo \"a\" '":                             Single,
		"echo # it's ":                             Comment,
		"echo # it's\n":                            Bare,
		"cat <<EOF > ":                             Bare,
		"cat <<EOF\n":                              Heredoc,
		"cat <<'EOF' > x\nit's ":                   Heredoc,
		"cat <<EOF\nit's\nEOF\ncat ":               Bare,
		"cat <<-EOF\n\tit's\n\tEOF\ncat \"":        Double,
		"cat << \"E F\"\nx\n":                      Heredoc,
		"cat <<EOF\nEOF":                           Bare,
		"cat <<EOF\n$(cat ":                        Bare,
		"cat <<EOF\n`cat \"":                       Double,
		"cat <<EOF\n$(cat x) ":                     Heredoc,
		"cat <<EOF\n$(cat x)\nEOF\ncat ":           Bare,
		"cat <<EOF\n${x:-$(cat ":                   Bare,
		"cat <<EOF\n${x:-a} it's ":                 Heredoc,
		"cat <<EOF\n\\$(cat ":                      Heredoc,
		"cat <<'EOF'\n$(cat ":                      Heredoc,
		"cat <<\\EOF\n`cat ":                       Heredoc,
		"x=$(cat <<EOF\n$(cat x)\nEOF\n) ":         Bare,
		"cat <<< ":                                 Bare,
		"echo \"$(cat ":                            Bare,
		"echo \"$(cat \"":                          Double,
		"echo \"$(cat x) ":                         Double,
		"echo \"$(cat x)\" ":                       Bare,
		"echo \"`cat ":                             Bare,
		"echo \"`cat x` ":                          Double,
		"echo '$(cat ":                             Single,
		"echo \"$(cat \"$(cat 'x":                  Single,
		"echo \"$((1 << 2)) ":                      Double,
		"echo \"$((1 << (2 + ":                     Bare,
		"(cd x && cat \"":                          Double,
		"(cd x) && cat \"$(":                       Bare,
		"case x in a) echo \"":                     Double,
		"echo \"$(cat <<EOF\nit's\nEOF\n) ":        Double,
		"echo \"\\$(cat ":                          Double,
		"echo \"${x%)} $(cat ":                     Bare,
		"echo \"$(echo ${x%)}) ":                   Double,
		"echo \"${x:-$(cat ":                       Bare,
		"echo \"${x:-a} ":                          Double,
		"echo ${x:-a} ":                            Bare,
		"echo \"$(case $x in a) b;; (c) d; esac) ": Double,
		"echo \"$(case $x in a) cat ":              Bare,
		"echo \"$(echo case; echo ":                Bare,
		"echo \"$(echo a case b) ":                 Double,
		"x=$(case a in b) esac; esac) \"":          Double,
	} {
		if got := (Position{}).After(text); got.Quoting != want {
			t.Errorf("%q: %d, want %d", text, got.Quoting, want)
		}
	}
	// A splice on a line of a here-document does not end it.
	if got := (Position{}).After("cat <<EOF\na ").After("EOF\n"); got.Quoting != Heredoc {
		t.Errorf("a line that begins with a splice: %d", got.Quoting)
	}
	if got := (Position{}).After("cat <<EOF\na ").After(" b\nEOF\ncat "); got.Quoting != Bare {
		t.Errorf("behind a here-document with a splice: %d", got.Quoting)
	}
}
