package syntax

import (
	"strings"
	"testing"
)

// TestSlips: each habitual mistake is reported once, at its place, with its correction.
func TestSlips(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string // of the job block of a phase
		want string // one line for each error: line, summary, part of the detail
	}{
		"colon":                             {`command: "x"`, `4: An attribute has an equals sign: Write command = …`},
		"no equals sign":                    {`command "x"`, `4: The equals sign is missing: write command = …`},
		"single quotes":                     {`command = 'x y'`, `4: Use double quotes for strings: Write "…"`},
		"curly quotes":                      {`command = “x y”`, `4: Use straight quotes for strings: Write "…"`},
		"comment":                           {"command = \"x\"\n-- why", `5: This is neither an attribute nor a block: A comment begins with # or //.`},
		"semicolon":                         {`command = "x";`, `4: A semicolon ends nothing here: Each attribute`},
		"brace below":                       {"command = \"x\"\nresources\n{\n}", `5: Put the brace on the line of its block: Write resources { on one line.`},
		"comparison":                        {`command = a = b`, `4: One equals sign too many: To compare, write ==`},
		"one-line compare":                  {`input "x" { from = a = b }`, `4: One equals sign too many: To compare, write ==`},
		"one-line duration":                 {`resources { walltime = 4h }`, `4: Put strings in quotes: Write walltime = "4h".`},
		"brace behind":                      {"resources {\nwalltime = \"4h\"\ngpus = 1 }", `6: A closing brace follows the last value: Put it on its own line`},
		"size":                              {"resources {\nmemory = 24GiB\n}", `5: Put strings in quotes: Write memory = "24GiB".`},
		"slurm duration":                    {"resources {\nwalltime = 1-12:00:00\n}", `5: Put strings in quotes: Write walltime = "1-12:00:00".`},
		"no quotes":                         {`command = python x.py`, `4: Unexpected text after the value: Put strings in quotes`},
		"and":                               {`command = a and b`, `4: There is no operator and: Write && for and`},
		"or":                                {`command = a or b`, `4: There is no operator or: Write && for and`},
		"not":                               {`command = not a`, `4: There is no operator not: ! for not`},
		"no value":                          {`command =`, `4: The value is missing: on the same line`},
		"heredoc with gap":                  {"command = << EOT\npython x.py\nEOT\nname = \"x\"", `4: This opens no heredoc: Write <<EOT or <<-EOT without a space`},
		"quoted heredoc":                    {"command = <<\"EOT\"\npython x.py\nEOT", `4: This opens no heredoc: Write <<EOT or <<-EOT without a space`},
		"open bracket":                      {"command = [\"a\", \"b\"\nname = \"x\"", `5: A comma or a closing bracket is missing: The bracket opened on line 4 is not closed before this`},
		"open template":                     {`name = "n ${cell.a"`, `4: Unclosed template interpolation sequence: no closing brace`},
		"open call":                         {"command = join(\" \", [\"b\"]\nname = \"x\"", `5: A comma or a closing parenthesis is missing: The bracket opened on line 4`},
		"open parenthesis":                  {"command = (1 + 2\nname = \"x\"", `5: A closing parenthesis is missing: The bracket opened on line 4`},
		"backslash in a template":           {`command = "echo ${join(\" \", ["a", "b"])}"`, `4: A quote in ${ … } has no backslash: write ${join(" ", …)}`},
		"shell default":                     {`command = "echo ${USER:-x}"`, `4: This is the shell's: For the shell's own write $${USER:-x};`},
		"shell array":                       {`command = "echo ${arr[@]}"`, `4: This is the shell's: For the shell's own write $${arr[@]};`},
		"shell count":                       {`command = "echo ${#arr[@]}"`, `4: This is the shell's: For the shell's own write $${#arr[@]};`},
		"shell words":                       {`command = "echo ${seq 3}"`, `4: This is the shell's: For the shell's own write $${ … }`},
		"shell last job":                    {`command = "echo ${!}"`, `4: This is the shell's: For the shell's own write $${!};`},
		"shell status":                      {`command = "echo ${?}"`, `4: This is the shell's: For the shell's own write $${?};`},
		"shell arguments":                   {`command = "echo ${@}"`, `4: This is the shell's: For the shell's own write $${@};`},
		"shell its own number":              {`command = "echo ${$}"`, `4: This is the shell's: For the shell's own write $${$};`},
		"shell length":                      {`command = "echo ${#x}"`, `4: This is the shell's: For the shell's own write $${#x};`},
		"shell suffix":                      {`command = "echo ${VAR%.txt}"`, `4: This is the shell's: For the shell's own write $${VAR%.txt};`},
		"shell prefix":                      {`command = "echo ${VAR#pre}"`, `4: This is the shell's: For the shell's own write $${VAR#pre};`},
		"shell long prefix":                 {`command = "echo ${VAR##*/}"`, `4: This is the shell's: For the shell's own write $${VAR##*/};`},
		"shell replaced":                    {`command = "echo ${VAR//a/b}"`, `4: This is the shell's: For the shell's own write $${VAR//a/b};`},
		"shell capitals":                    {`command = "echo ${VAR^^}"`, `4: This is the shell's: For the shell's own write $${VAR^^};`},
		"shell small":                       {`command = "echo ${VAR,,}"`, `4: This is the shell's: For the shell's own write $${VAR,,};`},
		"shell must be set":                 {`command = "echo ${VAR:?must}"`, `4: This is the shell's: For the shell's own write $${VAR:?must};`},
		"shell part":                        {`command = "echo ${VAR:0:3}"`, `4: This is the shell's: For the shell's own write $${VAR:0:3};`},
		"shell assigned":                    {`command = "echo ${VAR:=x}"`, `4: This is the shell's: For the shell's own write $${VAR:=x};`},
		"shell all names":                   {`command = "echo ${!arr[@]}"`, `4: This is the shell's: For the shell's own write $${!arr[@]};`},
		"shell one of an array of an array": {`command = "echo ${arr[@]:1}"`, `4: This is the shell's: For the shell's own write $${arr[@]:1};`},
		"shell second of a line":            {`command = "echo ${cell.x} ${VAR:-x}"`, `4: This is the shell's: For the shell's own write $${VAR:-x};`},
		"shell count, more below":           {"command = \"echo ${#arr[@]}\"\nresources { walltime = \"5m\" }", `4: This is the shell's: For the shell's own write $${#arr[@]};`},
		"shell in a heredoc":                {"command = <<-EOT\n  for f in *; do\n    echo ${f##*/} ${#f}\n  done\nEOT\nname = \"x\"", `6: This is the shell's: For the shell's own write $${f##*/};`},
		"shell wait in a heredoc":           {"command = <<-EOT\n  sleep 1 &\n  wait ${!}\nEOT", `6: This is the shell's: For the shell's own write $${!};`},
		"curl's format":                     {`command = "curl -w '%{http_code}' x"`, `4: muster has no such directive: write %%{http_code}.`},
		"directive":                         {`command = "a %{iff x}b%{endif}"`, `4: Invalid template control keyword: Did you mean "if"?`},
		"escape":                            {`command = "grep '\d' f"`, `4: A backslash in quotes is written twice: Write \\d for \d.`},
		"a quote within a text":             {`command = "python -c "print('x')""`, `4: A quote within a text: The text ends at the second quote.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Source
			s.Add("x.muster.hcl", []byte("campaign \"c\" {}\nphase \"t\" {\n  job {\n"+c.text+"\n  }\n}\n"))
			s.Blocks()
			if len(s.Sure) != 1 {
				t.Fatalf("%d errors, want one: %v", len(s.Sure), s.Sure)
			}
			line, rest, _ := strings.Cut(c.want, ": ")
			summary, detail, _ := strings.Cut(rest, ": ")
			d := s.Sure[0]
			if got := d.String(); !strings.HasPrefix(got, "x.muster.hcl:"+line+": "+summary) || !strings.Contains(d.Detail, detail) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestUnknownNames: a name that a block lacks is answered by what takes its place.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"job {\nafter = [\"x\"]\n}":                "in depends_on",
		"keep { checkpoints = \"best 1\" }":        "in checkpoint { … }",
		"job {\ncores = 4\n}":                      "Cores are cpus",
		"job {\nwalltime = \"4h\"\n}":              "resources { … }",
		"job {\npartition = \"gpu\"\n}":            `options "slurm" { … }`,
		"grid {\nlr = [0.1, 0.2]\n}":               "axes = { NAME = [ … ] }",
		"job {\nresources {\nmem = \"4GiB\"\n}\n}": "Memory of a job is memory",
		"job {\nresources {\ncpu = 2\n}\n}":        `did you mean "cpus"?`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var s Source
			s.Add("x.muster.hcl", []byte("campaign \"c\" {}\nphase \"t\" {\n"+text+"\n}\n"))
			s.Blocks()
			if len(s.Sure) == 0 || !strings.Contains(s.Sure[0].Detail, want) {
				t.Errorf("got %v, want %s", s.Sure, want)
			}
		})
	}
}
