package term

import (
	"slices"
	"strings"
)

// Wrap folds s at spaces into lines of at most width columns. A word that is
// longer, a path say, stays whole, because a person copies it. So does text in backticks,
// unless it is longer than a line.
func Wrap(s string, width int) []string {
	width = max(width, 1)
	var lines []string
	line, used := "", 0
	for _, word := range words(s, width) {
		w := Width(word)
		if used > 0 && used+1+w <= width {
			line, used = line+" "+word, used+1+w
			continue
		}
		if used > 0 {
			lines = append(lines, line)
		}
		line, used = word, w
	}
	if used > 0 {
		lines = append(lines, line)
	}
	return lines
}

// words are the parts that Wrap keeps on a line: words, and text in backticks with
// the words that it touches, where that fits on a line.
func words(s string, width int) []string {
	fields := strings.Fields(s)
	open := func(s string) bool { return strings.Count(s, "`")%2 == 1 }
	var out []string
	for i := 0; i < len(fields); i++ {
		word, last := fields[i], i
		for open(word) && last+1 < len(fields) && Width(word) <= width {
			last++
			word += " " + fields[last]
		}
		if open(word) || Width(word) > width {
			word, last = fields[i], i
		}
		out, i = append(out, word), last
	}
	return out
}

// Fold folds the paragraphs of a text, and leaves indented lines alone, so that they can be
// copied.
func Fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" && line[0] != ' ' && Width(line) > width {
			lines[i] = strings.Join(Wrap(line, width), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// Join joins the parts that are not empty.
func Join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}
