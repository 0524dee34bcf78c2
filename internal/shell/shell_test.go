package shell

import (
	"os/exec"
	"testing"
)

func TestShellReadsBackTheWord(t *testing.T) {
	for _, word := range []string{"", "plain-1.2_x/y:z=@%,+", "two words", "it's", "''", "$HOME", "`id`", `back\slash`, "line\nline", "*", "~", "#x", "-n", "ü", `"`, "a;b"} {
		for how, quoted := range map[string]string{"Quote": Quote(word), "Enclose": Enclose(word)} {
			out, err := exec.Command("sh", "-c", "printf %s. "+quoted).Output()
			if err != nil || string(out) != word+"." {
				t.Errorf("%s(%q) = %s, read as %q, %v", how, word, quoted, out, err)
			}
		}
	}
	if got := Quote("a/b=c"); got != "a/b=c" {
		t.Errorf("a plain word is quoted: %s", got)
	}
}
