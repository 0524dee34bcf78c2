package command

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/term"
)

// Reference is every page of the reference by file name.
func (t *Table) Reference() map[string][]byte {
	pages := map[string][]byte{}
	var index bytes.Buffer
	index.WriteString("# Command line\n\n<!-- made from the command table by `make generate` -->\n\n| command | does |\n|---|---|\n")
	for _, c := range t.Commands {
		if c.Hidden {
			continue
		}
		file := strings.ReplaceAll(c.Name, " ", "-") + ".md"
		fmt.Fprintf(&index, "| [%s](%s) | %s |\n", c.Name, file, c.Short)
		var page bytes.Buffer
		fmt.Fprintf(&page, "# muster %s\n\n<!-- made from the command table by `make generate` -->\n\n```text\n", c.Name)
		t.Help(&page, c, term.MaxWidth)
		page.WriteString("```\n")
		pages[file] = page.Bytes()
	}
	index.WriteString("\n## Exit codes\n\n| code | means |\n|---|---|\n")
	for _, code := range []Exit{Done, Failed, Changes, Held, Budget, Locked, TimedOut, Interrupted} {
		fmt.Fprintf(&index, "| %d | %s |\n", code, means[code])
	}
	pages["README.md"] = index.Bytes()
	return pages
}
