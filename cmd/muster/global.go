package main

import (
	"flag"
	"strings"
)

// global holds the flags every command takes, wherever they stand.
type global struct {
	chdir   string
	noColor bool
	input   bool
}

func (g *global) register(fs *flag.FlagSet) {
	fs.StringVar(&g.chdir, "chdir", g.chdir, "`DIR` to work in, instead of the current directory")
	fs.BoolVar(&g.noColor, "no-color", g.noColor, "print without colour (also: NO_COLOR)")
	fs.BoolVar(&g.input, "input", g.input, "ask for approval; -input=false fails instead (also: CI=true)")
}

// leading takes the flags that stand before the command.
func (g *global) leading(args []string) []string {
	for len(args) > 0 {
		name, value, has := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		if !strings.HasPrefix(args[0], "-") {
			break
		}
		switch {
		case name == "chdir" && has:
			g.chdir = value
		case name == "chdir" && len(args) > 1:
			g.chdir, args = args[1], args[1:]
		case name == "no-color":
			g.noColor = value != "false"
		case name == "input":
			g.input = value != "false"
		default:
			return args
		}
		args = args[1:]
	}
	return args
}
