package markdown

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"How high a degree does it need?":           "How high a degree does it need?",
		"5 runs of oom_host, $40.00, 80% of 4, $x$": "5 runs of oom_host, $40.00, 80% of 4, \\$x$",
		`phase.a["lr=1e-3,seed=2"]`:                 `phase.a["lr=1e-3,seed=2"]`,
		"<b>x</b> &lt; a|b":                         `&lt;b&gt;x&lt;/b&gt; &amp;lt; a\|b`,
		"**b** _e_ __i__ ~~s~~ `c` \\*":             "\\*\\*b\\*\\* \\_e\\_ \\_\\_i\\_\\_ \\~\\~_s\\~\\~ &#96;c&#96; \\\\\\*",
		"[a](http://x) ![b](y) [c][d] [e]: z":       `[a\](<http://x>) ![b\](y) [c\][d] [e\]: z`,
		"@ada and a@b.c, #12, !34, org/repo#5":      "@_ada and a@_b.c, #_12, !_34, org/repo#_5",
		"GH-12, gh-3, &7, %8, ~bug, high-12":        `GH-_12, gh-_3, &amp;_7, %_8, \~_bug, high-12`,
		"# not a heading":                           `\# not a heading`,
		"- not a list":                              `\- not a list`,
		"12. not a list":                            `12\. not a list`,
		"1) not a list":                             `1\) not a list`,
		"0.3s and 1)x":                              "0.3s and 1)x",
		"7.":                                        `7\.`,
		"v1.5 of 3.":                                "v1.5 of 3.",
		"研究_计划 @研究 _x_y_":                           `研究_计划 @_研究 \_x_y\_`,
		"a\xffb":                                    "a\ufffdb",
		"":                                          "",
	} {
		if got := strings.ReplaceAll(Text(in), apart, "_"); got != want {
			t.Errorf("%q is\n%q, not\n%q", in, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a": "`a`", "a`b": "`` a`b ``", "``": "``` `` ```"} {
		if got := Code(in); got != want {
			t.Errorf("%q is %q, not %q", in, got, want)
		}
	}
}
